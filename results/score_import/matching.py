"""Which candidate a row of scores is of: by dataset and id, as the exports write them."""

from dataclasses import dataclass

from projects.database.csv import unguard_text
from projects.models import Candidate, MinimalPair, Project

PAIR_ENDING = "-1"
"""What the id of a pair lacks of that of its first candidate, as MOCHA's files have it."""
AMBIGUOUS = -1


@dataclass(frozen=True)
class Found:
    """A candidate by its place among those of the project, or what is wrong with its id."""

    place: int
    kind: str = ""
    reason: str = ""


class Candidates:
    """The candidates of a project by their ids; the places of those that may be judged come first, in order of id."""

    def __init__(self, project: Project) -> None:
        rows = Candidate.objects.of(project)
        columns = ("id", "dataset__name", "external_id")
        judgeable = list(rows.judgeable().order_by("id").values_list(*columns))
        self.ids = [pk for pk, _dataset, _name in judgeable]
        self.n = len(self.ids)
        others = rows.exclude(pk__in=rows.judgeable().values("pk")).order_by("id").values_list(*columns)
        self._names = [name for _pk, _dataset, name in judgeable]
        self._datasets = [dataset for _pk, dataset, _name in judgeable]
        self._places: dict[tuple[str, str], int] = {}
        self._only: dict[str, int] = {}
        for place, (_pk, dataset, name) in enumerate([*judgeable, *others]):
            self._places[dataset, name] = place
            self._only[name] = AMBIGUOUS if name in self._only else place
        self._pairs = self._pairs_of(project)

    def find(self, dataset: str, name: str, *, half: int = 0) -> Found:
        """The candidate of an id, or the first or second `half` of a pair's."""
        if half:
            pair = self._pairs.get((dataset, name)) or self._pairs.get((dataset, unguard_text(name)))
            place = pair[half - 1] if pair else None
        else:
            place = self._place(dataset, name)
            if place is None:
                place = self._place(unguard_text(dataset), unguard_text(name))
        if place is None:
            return Found(0, "unknown", self._why_unknown(dataset, name, half))
        if place == AMBIGUOUS:
            return Found(0, "ambiguous", "is an id in several datasets; a column “dataset” says which")
        if place >= self.n:
            return Found(0, "withdrawn", "is a withdrawn candidate, which has no scores")
        return Found(place)

    def named(self, place: int) -> tuple[str, str]:
        """Dataset and id."""
        return self._datasets[place], self._names[place]

    def _place(self, dataset: str, name: str) -> int | None:
        return self._places.get((dataset, name)) if dataset else self._only.get(name)

    def _why_unknown(self, dataset: str, name: str, half: int) -> str:
        if half:
            return "is the id of no minimal pair in the project"
        if dataset and name in self._only:
            return "is no candidate of this dataset, but of another"
        return "is the id of no candidate in the project"

    def _pairs_of(self, project: Project) -> dict[tuple[str, str], tuple[int, int]]:
        """By dataset and by no dataset: a pair goes by the id of its first candidate without the ending."""
        found: dict[tuple[str, str], tuple[int, int]] = {}
        rows = MinimalPair.objects.filter(question__dataset__project=project).values_list(
            "candidate_1__dataset__name", "candidate_1__external_id", "candidate_2__external_id"
        )
        for dataset, first, second in rows:
            places = (self._places[dataset, first], self._places[dataset, second])
            name = first.removesuffix(PAIR_ENDING)
            found[dataset, name] = places
            found["", name] = (AMBIGUOUS, AMBIGUOUS) if ("", name) in found else places
        return found

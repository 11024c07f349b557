"""Which candidate a row of scores belongs to: by dataset and id, as the exports write them."""

from dataclasses import dataclass

from projects.database.csv import unguard_text
from projects.models import Candidate, MinimalPair, Project

PAIR_ENDING = "-1"
"""The ending of the first candidate's id that a pair's id lacks, as in MOCHA's files."""
AMBIGUOUS = -1


@dataclass(frozen=True)
class Match:
    """A candidate by its position among those of the project, or what is wrong with its id."""

    position: int
    kind: str = ""
    reason: str = ""


class Candidates:
    """The candidates of a project by their ids; the positions of judgeable ones come first, in order of id."""

    def __init__(self, project: Project) -> None:
        may_be_judged = Candidate.objects.judgeable_in(project)
        withdrawn = Candidate.objects.in_project(project).exclude(pk__in=may_be_judged.values("pk"))
        columns = ("id", "dataset__name", "external_id")
        judgeable = list(may_be_judged.order_by("id").values_list(*columns))
        self.ids = [pk for pk, _dataset, _name in judgeable]
        self.n = len(self.ids)
        others = withdrawn.order_by("id").values_list(*columns)
        self._names = [name for _pk, _dataset, name in judgeable]
        self._datasets = [dataset for _pk, dataset, _name in judgeable]
        self._positions: dict[tuple[str, str], int] = {}
        self._only: dict[str, int] = {}
        for position, (_pk, dataset, name) in enumerate([*judgeable, *others]):
            self._positions[dataset, name] = position
            # Withdrawn candidates take part, so that their ids are explained and not called unknown.
            self._only[name] = AMBIGUOUS if name in self._only else position
        self._pairs = self._fetch_pairs(project)

    def find(self, dataset: str, name: str, *, half: int = 0) -> Match:
        """Return the candidate of an id, or the first or second candidate (`half` 1 or 2) of a pair's id."""
        if half:
            pair = self._pairs.get((dataset, name)) or self._pairs.get((dataset, unguard_text(name)))
            position = pair[half - 1] if pair else None
        else:
            position = self._find_position(dataset, name)
            if position is None:
                # Our exports put an apostrophe before what a spreadsheet would take for a formula, and a file made
                # from one brings it back.
                position = self._find_position(unguard_text(dataset), unguard_text(name))
        if position is None:
            return Match(0, "unknown", self._explain_unknown(dataset, name, half))
        if position == AMBIGUOUS:
            return Match(0, "ambiguous", "is an id in several datasets; add a column “dataset”")
        if position >= self.n:
            return Match(0, "withdrawn", "is a withdrawn candidate")
        return Match(position)

    def find_name(self, position: int) -> tuple[str, str]:
        """Return dataset and id of the candidate at a position."""
        return self._datasets[position], self._names[position]

    def _find_position(self, dataset: str, name: str) -> int | None:
        return self._positions.get((dataset, name)) if dataset else self._only.get(name)

    def _explain_unknown(self, dataset: str, name: str, half: int) -> str:
        if half:
            return "matches no minimal pair of the project"
        if dataset and name in self._only:
            return "is a candidate of another dataset"
        return "matches no candidate of the project"

    def _fetch_pairs(self, project: Project) -> dict[tuple[str, str], tuple[int, int]]:
        """Return both positions of each pair, by dataset and the pair's id, and by the id alone.

        A pair is also found by its first candidate's id. Where several pairs could be meant, the key of the export is:
        the pair's id, or its first candidate's where the pair's is a candidate's.
        """
        found: dict[tuple[str, str], tuple[int, int]] = {}
        whole: dict[tuple[str, str], tuple[int, int]] = {}
        exported: dict[tuple[str, str], tuple[int, int]] = {}
        rows = MinimalPair.objects.filter(question__dataset__project=project).values_list(
            "candidate_1__dataset__name", "candidate_1__external_id", "candidate_2__external_id"
        )
        for dataset, first, second in rows:
            positions = (self._positions[dataset, first], self._positions[dataset, second])
            bare = first.removesuffix(PAIR_ENDING)
            key = first if (dataset, bare) in self._positions else bare
            for names, name in ((found, bare), (whole, first), (exported, key)):
                names[dataset, name] = positions
                names["", name] = (AMBIGUOUS, AMBIGUOUS) if ("", name) in names else positions
        return whole | found | exported

"""The reference to a frozen set: read from its archive, with the DOI that it was given after its deposit."""

from dataclasses import dataclass

import orjson
from django.db import transaction

from projects import log
from projects.errors import Refused
from projects.models import Act, Membership
from results.models import JudgmentSet
from results.sets import archive, citing, freezing, readme
from results.sets.building import SET
from results.sets.provenance import Terms
from results.sets.studies import METRICS


@dataclass(frozen=True)
class CitedSet:
    """How a set is cited, and the signatures of the metrics whose scores it holds."""

    citation: citing.Citation
    sentence: str
    bibtex: str
    cff: str
    signatures: tuple[str, ...]


def set_doi(*, judgment_set: JudgmentSet, actor: Membership | None, doi: str) -> None:
    """Store the DOI of a frozen set, or remove it with an empty text; `actor` None is the system. Raises Refused."""
    if not judgment_set.is_frozen:
        raise Refused("Only a frozen set can have a DOI.")
    doi = citing.parse_doi(doi)
    with transaction.atomic():
        locked = JudgmentSet.objects.select_for_update(no_key=True).get(pk=judgment_set.pk)
        before = locked.doi
        if before == doi:
            return
        JudgmentSet.objects.filter(pk=locked.pk).update(doi=doi)
        log.record(
            judgment_set.project, actor, Act.CHANGE_DOI, judgment_set, before={"doi": before}, after={"doi": doi}
        )
    judgment_set.doi = doi


def read_reference(judgment_set: JudgmentSet) -> CitedSet | None:
    """Return the reference to a frozen set; None where its archive is missing or cannot be read."""
    about = read_json(judgment_set, SET)
    if about is None:
        return None
    citation = readme.describe_citation(
        about,
        judgment_set.facts,
        fingerprints=[(f"{judgment_set.facts['folder']}.zip", judgment_set.sha256)],
        doi=judgment_set.doi,
    )
    metrics = (read_json(judgment_set, METRICS) or {}).get("columns", [])
    return CitedSet(
        citation=citation,
        sentence=citing.format_sentence(citation),
        bibtex=citing.format_bibtex(citation),
        cff=citing.format_cff(citation),
        # Metrics of older sets have none.
        signatures=tuple(each["signature"] for each in metrics if "signature" in each),
    )


def read_json(judgment_set: JudgmentSet, name: str) -> Terms | None:
    """Return a JSON file of the archive; None where there is none or it cannot be read."""
    if all(file.name != name for file in freezing.find_files(judgment_set)):
        return None
    try:
        chunks = archive.read_file(freezing.find_path(judgment_set), judgment_set.facts["folder"], name)
        content: Terms = orjson.loads(b"".join(chunks))
    except (OSError, KeyError, archive.Unreadable, orjson.JSONDecodeError):
        return None
    return content

"""Where the judgments of a set come from: rubrics, instructions, consents and batches, as plain values."""

from typing import Any

from django.db import connection

from annotate.models import Batch
from annotate.models.conditions import is_left_in
from projects.models import Rubric
from results.exports.columns import TIME
from results.metrics.code_version import code_version
from results.sets.selecting import Selection

Terms = dict[str, Any]


def read_terms(selection: Selection, url: str) -> Terms:
    """Return the provenance of the selected batches that hold judgments; no personal data. `url` is the set's page."""
    parameters = selection.parameters()
    with connection.cursor() as cursor:
        cursor.execute(_BATCHES, parameters)
        counted = {pk: (n, n_annotators) for pk, n, n_annotators in cursor.fetchall()}
        # The transaction is the snapshot that all files are read from, so its time is that of the set.
        cursor.execute("SELECT to_char(transaction_timestamp() AT TIME ZONE 'UTC', %s)", [TIME])
        (snapshot_at,) = cursor.fetchone()
    batches = list(
        Batch.objects.filter(pk__in=counted)
        .select_related("rubric", "instructions", "consent")
        .prefetch_related("rubric__criteria")
        .order_by("number")
    )
    rubrics = {batch.rubric_id: batch.rubric for batch in batches}
    keys = selection.settings.criteria
    return {
        "project": {"slug": selection.project.slug, "name": selection.project.name},
        "snapshot_at": snapshot_at,
        "code_version": code_version(),
        "url": url,
        "batches": [{**_describe_batch(batch), "n_judgments": counted[batch.pk][0]} for batch in batches],
        "rubrics": [
            _describe_rubric(rubric, keys)
            for rubric in sorted(rubrics.values(), key=lambda each: each.version, reverse=True)
        ],
        "instructions": _list_versions(batch.instructions for batch in batches),
        "consents": _list_versions(batch.consent for batch in batches),
    }


def _describe_batch(batch: Batch) -> Terms:
    return {
        "number": batch.number,
        "name": batch.name,
        "kind": batch.kind,
        # An imported batch was never cut or served; what its row says about HITs means nothing.
        "judgments_wanted": None if batch.kind == Batch.Kind.IMPORTED else batch.judgments,
        "hit_size": None if batch.kind == Batch.Kind.IMPORTED else batch.hit_size,
        "cents_per_hit": batch.cents_per_hit,
        "cents_per_item": batch.cents_per_item,
        "is_pay_prorated": batch.is_pay_prorated,
        "time_limit_minutes": batch.time_limit_minutes,
        "requires_qualification": batch.requires_qualification,
        "rubric_version": batch.rubric.version,
        "instructions_version": batch.instructions.version if batch.instructions else None,
        "consent_version": batch.consent.version if batch.consent else None,
    }


def _describe_rubric(rubric: Rubric, keys: tuple[str, ...]) -> Terms:
    criteria = sorted(rubric.criteria.all(), key=lambda each: each.position)
    names = ("key", "name", "statement", "kind", "low", "high", "anchors", "is_reversed", "level")
    return {
        "version": rubric.version,
        "name": rubric.name,
        "is_imported": rubric.is_imported,
        "criteria": [
            {name: getattr(each, name) for name in names} for each in criteria if not keys or each.key in keys
        ],
    }


def _list_versions(versions: Any) -> list[Terms]:
    found = {each.version: each for each in versions if each is not None}
    return [
        {"version": version, "text": found[version].text, "examples": getattr(found[version], "examples", [])}
        for version in sorted(found)
    ]


# Work that its annotator removed is in no file of a set, so it is not counted here either.
_BATCHES = f"""
SELECT h.batch_id, count(*), count(DISTINCT j.annotator_id)
FROM annotate_judgment j JOIN annotate_assignment a ON a.id = j.assignment_id JOIN annotate_hit h ON h.id = a.hit_id
JOIN annotate_batch b ON b.id = h.batch_id
WHERE b.project_id = %(project)s AND j.candidate_id IS NOT NULL AND {is_left_in("j")}
  AND (cardinality(%(batches)s::bigint[]) = 0 OR b.id = ANY (%(batches)s)) AND b.id <> ALL (%(left_out)s::bigint[])
GROUP BY h.batch_id"""

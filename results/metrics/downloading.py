"""The scores of a run as a file, streamed from the database."""

from django.http import Http404, StreamingHttpResponse
from django.utils.text import slugify

from projects.database.csv import guard_sql
from projects.downloads import download_headers
from results.exports.streaming import CSV, LINES, Statement, stream
from results.models import MetricRun

FORMATS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}

# Sorted byte by byte, as in the exports, so that files can be joined line by line.
_FROM = """
FROM results_metricscore s JOIN projects_candidate c ON c.id = s.candidate_id
JOIN projects_dataset d ON d.id = c.dataset_id
WHERE s.run_id = %(run)s ORDER BY d.name COLLATE "C", c.external_id COLLATE "C"
"""
_CSV = f"""
SELECT {guard_sql("d.name")} AS dataset, {guard_sql("c.external_id")} AS candidate_id,
       {guard_sql("c.source")} AS source,
       s.value AS score, nullif({guard_sql("s.reason")}, '') AS reason,
       %(signature)s AS signature {_FROM}
"""
_JSONL = f"""
SELECT json_build_object('dataset', d.name, 'candidate_id', c.external_id, 'source', c.source, 'score', s.value,
                         'reason', nullif(s.reason, ''), 'signature', %(signature)s) {_FROM}
"""


def select_scores(run: MetricRun, form: str) -> Statement:
    """Return the statement of a run's candidates by dataset and id: each score, or the reason why it is missing."""
    is_csv = form == "csv"
    parameters = {"run": run.pk, "signature": run.signature}
    return Statement(select=_CSV if is_csv else _JSONL, parameters=parameters, form=CSV if is_csv else LINES)


def stream_scores(run: MetricRun, form: str, *, is_head: bool) -> StreamingHttpResponse:
    """Return the file as it is read. Raises Http404 where there is none."""
    if form not in FORMATS or run.state != MetricRun.State.DONE:
        raise Http404("There is no such file.")
    name = f"{run.project.slug}-{slugify(run.metric) or run.pk}.{form}"
    return StreamingHttpResponse(
        iter(()) if is_head else stream(select_scores(run, form)),
        content_type=FORMATS[form],
        headers=download_headers(name),
    )

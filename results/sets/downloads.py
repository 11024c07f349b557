"""Downloads of judgment sets: the stored bytes, streamed, with a note beside them once a set is retired."""

import logging
import re
from collections.abc import Callable, Iterator
from http import HTTPStatus

from django.http import Http404, StreamingHttpResponse
from django.shortcuts import get_object_or_404

from projects.downloads import FileMissing, download_headers
from projects.models import Project
from results.models import JudgmentSet
from results.sets import archive, freezing, retiring

logger = logging.getLogger(__name__)

KINDS = {
    "bib": "text/plain; charset=utf-8",
    "cff": "text/plain; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "md": "text/markdown; charset=utf-8",
    "zip": "application/zip",
}
ANYTHING = "application/octet-stream"


def stream_archive(project: Project, number: int, *, is_head: bool) -> StreamingHttpResponse:
    """Return all files as one archive. Raises Http404 where nothing is frozen, FileMissing where it is gone."""
    judgment_set = _fetch_frozen(project, number)
    path, folder = freezing.find_path(judgment_set), judgment_set.facts["folder"]
    if judgment_set.retired_at is not None:
        n_bytes, chunks = archive.add_retirement_note(
            path, folder, retiring.NOTE, retiring.retirement_note(judgment_set)
        )
        return _stream(archive.name_archive(folder, is_retired=True), n_bytes, lambda: chunks, is_head)
    name = archive.name_archive(folder, is_retired=False)
    return _stream(name, judgment_set.n_bytes, lambda: archive.read_archive(path), is_head)


def stream_file(
    project: Project, number: int, name: str, *, is_head: bool, asked_range: str | None = None
) -> StreamingHttpResponse:
    """Return one file by its name in the set's list. Raises Http404.

    `asked_range` is the header Range. Of its forms only the one that goes on with a broken download is understood, an
    offset to the end; others get the whole file.
    """
    judgment_set = _fetch_frozen(project, number)
    if judgment_set.retired_at is not None and name == retiring.NOTE:
        note = retiring.retirement_note(judgment_set)
        return _stream(f"{judgment_set.facts['folder']}-{name}", len(note), lambda: iter([note]), is_head)
    # No path is ever built from what was requested: the name has to be one that the set lists.
    file = next((each for each in freezing.find_files(judgment_set) if each.name == name), None)
    if file is None:
        raise Http404("No such file.")
    path, folder = freezing.find_path(judgment_set), judgment_set.facts["folder"]
    start = _read_start(asked_range, file.n_bytes)
    response = _stream(
        f"{folder}-{file.name}",
        file.n_bytes - start,
        lambda: archive.read_file(path, folder, file.name, start=start),
        is_head,
    )
    response["Accept-Ranges"] = "bytes"
    if start:
        response.status_code = HTTPStatus.PARTIAL_CONTENT
        response["Content-Range"] = f"bytes {start}-{file.n_bytes - 1}/{file.n_bytes}"
    return response


def _read_start(asked_range: str | None, n_bytes: int) -> int:
    found = re.fullmatch(r"bytes=(\d{1,18})-", asked_range or "")
    start = int(found[1]) if found else 0
    return start if start < n_bytes else 0


def _fetch_frozen(project: Project, number: int) -> JudgmentSet:
    judgment_set = get_object_or_404(project.judgment_sets.frozen().select_related("successor"), number=number)
    path = freezing.find_path(judgment_set)
    if not path.is_file():
        logger.error("Judgment set %d of project %d has lost its archive %s.", number, project.pk, path)
        raise FileMissing(
            "The files of this judgment set are missing on the server. "
            "Ask the site administrator to put them back from a backup."
        )
    return judgment_set


def _stream(name: str, n_bytes: int, read: Callable[[], Iterator[bytes]], is_head: bool) -> StreamingHttpResponse:
    return StreamingHttpResponse(
        # `read` is called here and not by the caller, so that a HEAD request opens nothing.
        iter(()) if is_head else read(),
        content_type=KINDS.get(name.rpartition(".")[2], ANYTHING),
        # The bytes never change, but a set may be retired and a member may lose access, so caches ask each time.
        headers=download_headers(name, cache_control="private, no-cache") | {"Content-Length": str(n_bytes)},
    )

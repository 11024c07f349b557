"""Downloads of judgment sets: the stored bytes as they are, streamed, with a note beside them once a set is retired."""

from collections.abc import Callable, Iterator

from django.http import Http404, StreamingHttpResponse
from django.shortcuts import get_object_or_404

from projects.models import Project
from results.models import JudgmentSet
from results.sets import archive, freezing, retiring

KINDS = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "md": "text/markdown; charset=utf-8",
    "zip": "application/zip",
}
ANYTHING = "application/octet-stream"


def stream_archive(project: Project, number: int, *, is_head: bool) -> StreamingHttpResponse:
    """All files in one. Raises Http404 where nothing is frozen, or the archive is gone."""
    made = _fetch_frozen(project, number)
    path, folder = freezing.find_path(made), made.facts["folder"]
    if made.retired_at is not None:
        n_bytes, chunks = archive.add_retirement_note(path, folder, retiring.NOTE, retiring.retirement_note(made))
        return _give(f"{folder}-retired.zip", n_bytes, lambda: chunks, is_head)
    return _give(f"{folder}.zip", made.n_bytes, lambda: archive.read_archive(path), is_head)


def stream_file(project: Project, number: int, name: str, *, is_head: bool) -> StreamingHttpResponse:
    """One file by the name that the set itself gives it: no path is made of what was asked. Raises Http404."""
    made = _fetch_frozen(project, number)
    if made.retired_at is not None and name == retiring.NOTE:
        note = retiring.retirement_note(made)
        return _give(f"{made.facts['folder']}-{name}", len(note), lambda: iter([note]), is_head)
    file = next((each for each in freezing.find_files(made) if each.name == name), None)
    if file is None:
        raise Http404("No such file.")
    path, folder = freezing.find_path(made), made.facts["folder"]
    return _give(f"{folder}-{file.name}", file.n_bytes, lambda: archive.read_file(path, folder, file.name), is_head)


def _fetch_frozen(project: Project, number: int) -> JudgmentSet:
    made = get_object_or_404(project.judgment_sets.frozen().select_related("successor"), number=number)
    if not freezing.find_path(made).is_file():
        raise Http404("The archive of this set is not there.")
    return made


def _give(name: str, n_bytes: int, read: Callable[[], Iterator[bytes]], is_head: bool) -> StreamingHttpResponse:
    return StreamingHttpResponse(
        iter(()) if is_head else read(),
        content_type=KINDS.get(name.rpartition(".")[2], ANYTHING),
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "Content-Length": str(n_bytes),
            "Cache-Control": "private, no-cache",
            "Content-Security-Policy": "sandbox; default-src 'none'",
        },
    )

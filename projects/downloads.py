"""Downloads: how a file is sent so that a browser saves it and never treats it as a page of this site."""

from pathlib import Path

from django.http import FileResponse, Http404
from django.utils.http import content_disposition_header

SANDBOX = "sandbox; default-src 'none'"
"""Files hold texts from outside. A browser that opens one all the same runs none of its scripts and loads nothing."""


def download_headers(name: str, *, cache_control: str = "no-store", policy: str = SANDBOX) -> dict[str, str]:
    """Return the headers of a file that is written for this request, to be saved under this name."""
    return {
        "Content-Disposition": content_disposition_header(as_attachment=True, filename=name) or "attachment",
        "Cache-Control": cache_control,
        "Content-Security-Policy": policy,
    }


class FileMissing(Http404):
    """A stored file is gone; unlike those of other addresses that lead nowhere, people read this sentence."""


def send_file(path: Path, *, name: str, content_type: str, missing: str) -> FileResponse:
    """Return a stored file under another name. Raises FileMissing with the sentence `missing` if it is gone."""
    if not path.is_file():
        raise FileMissing(missing)
    response = FileResponse(path.open("rb"), as_attachment=True, filename=name, content_type=content_type)
    response["Content-Security-Policy"] = SANDBOX
    return response

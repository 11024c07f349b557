"""Uploads that are moved to another file system, which has no room for them."""

import errno
import os
from pathlib import Path

import pytest
from django.core.files.uploadedfile import TemporaryUploadedFile
from pytest_django import Settings

from projects.web import uploads


@pytest.mark.parametrize("n_written", [0, 3])
def test_an_upload_that_finds_no_room_leaves_nothing(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_written: int
) -> None:
    """The system says so, or writes less than it was given, which Django's copy does not notice."""
    settings.MEDIA_ROOT = tmp_path
    upload = TemporaryUploadedFile("a.csv", "text/csv", 6, None)
    upload.write(b"a,b\n1,")
    upload.seek(0)

    def refuse(*_: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    def write(_: int, __: bytes) -> int:
        if not n_written:
            raise OSError(errno.ENOSPC, "No space left on device")
        return n_written

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", refuse)
        patched.setattr(os, "write", write)
        with pytest.raises(OSError, match="No space left"):
            uploads.store_upload(upload)
    upload.close()
    assert list(uploads.folder().iterdir()) == []

"""Unpacking of archives that the project itself has made."""

import tarfile
from pathlib import Path


def unpack(archive: Path, folder: Path) -> None:
    """Unpack into a folder and nowhere else, as far as this Python can promise it: Debian 12's cannot yet."""
    with tarfile.open(archive) as files:
        if hasattr(tarfile, "data_filter"):
            files.extractall(folder, filter="data")
        else:
            files.extractall(folder)

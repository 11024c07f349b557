"""The instructions and worked examples that a new project starts with, in the language of its annotators' pages."""

from pathlib import Path
from typing import Any

import orjson

from measures.rubric_presets import DEFAULT_PRESET

TEXTS = Path(__file__).parent / "starting"
"""For each language the instructions (.md) and worked examples (.json) for the default rubric.

Those of another preset are in a folder of its name; it may have no examples.
"""
FALLBACK = "en"


def read_instructions(language: str, preset: str = DEFAULT_PRESET) -> str:
    path = _find(language, "md", preset)
    return path.read_text(encoding="utf-8") if path is not None else ""


def read_examples(language: str, preset: str = DEFAULT_PRESET) -> list[dict[str, Any]]:
    path = _find(language, "json", preset)
    return list(orjson.loads(path.read_bytes())) if path is not None else []


def _find(language: str, ending: str, preset: str) -> Path | None:
    folder = TEXTS if preset == DEFAULT_PRESET else TEXTS / preset
    paths = (folder / f"{each}.{ending}" for each in (language, FALLBACK))
    return next((path for path in paths if path.exists()), None)

"""Presets of rubrics in the languages of annotators' pages; the English ones are in `measures.rubric_presets`."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from measures.rubric import CriterionSpec
from measures.rubric_presets import PRESETS, RubricPreset

TRANSLATIONS = Path(__file__).parent / "preset_texts"
"""A file for each language: the texts that annotators read, by preset and criterion."""


def find_preset(key: str, language: str) -> RubricPreset:
    """Return a preset with the names, statements and labels of a language, in English if it isn't translated.

    The name of the preset is for managers, and stays English.
    """
    preset = PRESETS[key]
    texts = _read(language).get(key, {})
    return replace(
        preset, criteria=tuple(_translate(each, texts[each.key]) if texts else each for each in preset.criteria)
    )


def _translate(criterion: CriterionSpec, texts: dict[str, Any]) -> CriterionSpec:
    anchors = {value: texts["anchors"][str(value)] for value in criterion.anchors}
    return replace(criterion, name=texts["name"], statement=texts["statement"], anchors=anchors)


@cache
def _read(language: str) -> dict[str, Any]:
    path = TRANSLATIONS / f"{language}.json"
    return dict(orjson.loads(path.read_bytes())) if path.exists() else {}

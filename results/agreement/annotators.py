"""Annotators compared: each pair on their common candidates, and each annotator with all others."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from annotate.frames.judgments_frame import fetch_judgments
from measures.annotator_pairs import QUADRATIC, UNWEIGHTED, PairAgreement, Pairs, pair_agreements
from measures.columns import ANNOTATOR, GROUP, QUESTION_TYPE, UNIT, VALUE
from measures.outcome import Undefined
from measures.quality.others import AlphaEffect, Others, against_others, alpha_effects, others_means
from measures.rubric import NO_ORDER, Level
from projects.models import Project
from results.scope.excluded import count_inclusion
from results.scope.scopes import explain_several_scales, read_scope

MOST_PEOPLE = 200
"""The most annotators that are listed, those with most ratings."""
# Six pairs are four annotators. By question type a larger crew would make a table that nobody reads.
FEW_PAIRS = 6
"""Up to this many pairs are also compared by question type."""


@dataclass(frozen=True)
class Person:
    """One annotator compared with the others; `others` and `effect` are undefined without common items."""

    pseudonym: str
    n: int
    mean: float | None
    sd: float | None
    """Both None where the points are categories without an order."""
    others: Others | Undefined
    effect: AlphaEffect | Undefined


def annotator_figures(project: Project, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the annotators' page shows; nothing about people where scores were imported without names.

    A criterion on several scales is refused.
    """
    scope = read_scope(project, settings)
    if not scope.criterion.has_one_scale:
        return {"refusal": explain_several_scales(scope.criterion)}
    frame = fetch_judgments(scope)
    has_order = scope.criterion.has_order
    pairs = pair_agreements(frame, has_order=has_order)
    # One nameless score is enough: nobody knows whom it would be counted for.
    is_known = not frame[ANNOTATOR].isna().any()
    return {
        "level": settings["level"],
        "kappa": QUADRATIC if has_order else UNWEIGHTED,
        "pairs": pairs,
        "by_type": compare_by_type(frame, has_order=has_order)
        if isinstance(pairs, Pairs) and pairs.n_pairs <= FEW_PAIRS
        else [],
        "people": compare_people(frame, level=Level(settings["level"]), has_order=has_order)
        if is_known and len(frame)
        else [],
        "n_people": int(frame[ANNOTATOR].nunique()),
        "entering": count_inclusion(scope).as_dict(),
    }


def compare_by_type(frame: pd.DataFrame, *, has_order: bool = True) -> list[tuple[str, PairAgreement]]:
    """Return each pair on the items of each question type (Yang et al. 2018, table 1)."""
    found = []
    for name in sorted(frame[QUESTION_TYPE].astype("str").unique()):
        pairs = pair_agreements(frame[frame[QUESTION_TYPE] == name], has_order=has_order)
        if isinstance(pairs, Pairs):
            found += [(name, pair) for pair in pairs.computed]
    return found


def compare_people(frame: pd.DataFrame, *, level: Level, has_order: bool = True) -> list[Person]:
    """Return every annotator compared with the mean of the others' ratings of the same items, most ratings first.

    Of categories there are no means: annotators then have the number of their ratings and their effect on alpha.
    """
    names = frame[ANNOTATOR].astype("str").to_numpy()
    people, numbers = np.unique(names, return_inverse=True)
    units = np.unique(frame[UNIT], return_inverse=True)[1]
    scores, passages = frame[VALUE].to_numpy(np.float64), np.unique(frame[GROUP], return_inverse=True)[1]
    plain, trusted = others_means(units, numbers, scores)
    effects = alpha_effects(frame, level=level)
    # Sorted once and cut where the annotator changes: a mask for each of 200 annotators would read a million ratings
    # 200 times.
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers, minlength=len(people)))
    found = []
    for name, own in zip(people, np.split(order, ends[:-1]), strict=True):
        found.append(
            Person(
                pseudonym=str(name),
                n=len(own),
                mean=float(scores[own].mean()) if has_order else None,
                sd=float(scores[own].std(ddof=1)) if has_order and len(own) > 1 else None,
                others=against_others(scores[own], plain[own], trusted[own], groups=passages[own])
                if has_order
                else Undefined(reason=NO_ORDER),
                effect=effects[name],
            )
        )
    return sorted(found, key=lambda person: (-person.n, person.pseudonym))[:MOST_PEOPLE]

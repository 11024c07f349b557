"""Surveys, as their form stores them."""

from typing import Any

from annotate.models import Survey
from annotate.surveys import editing
from projects.models import Membership

AGE = {"kind": "number", "text": "How old are you?", "low": 0, "high": 120, "screens_out": ["0-17"]}
TONGUE = {"kind": "language", "text": "What is your first language?", "is_published": True}
FREE = {"kind": "text", "text": "Anything else?", "is_required": False}


def make_question(**over: Any) -> dict[str, Any]:
    question: dict[str, Any] = {"kind": "choice", "text": "Which?", "options": [], "low": None, "high": None}
    question |= {"low_label": "", "high_label": "", "is_required": True, "is_published": False}
    return {**question, "screens_out": [], "screens_others": False, **over}


def make_survey(manager: Membership, *questions: dict[str, Any], moment: str = "before") -> Survey:
    newest = editing.find_newest(manager.project, moment)
    return editing.save_survey(
        actor=manager,
        moment=moment,
        introduction="",
        questions=[make_question(**question) for question in questions or (AGE, TONGUE, FREE)],
        based_on=newest.version if newest else 0,
    )


def survey_samples(manager: Membership) -> dict[str, Any]:
    """The values of the paths of surveys: of one after the work, which keeps nobody from a HIT."""
    make_survey(manager, FREE, moment="after")
    return {"moment": "after"}

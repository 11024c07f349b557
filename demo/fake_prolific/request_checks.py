"""What the API of Prolific accepts: required fields, words from lists, and which status follows which."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

STUDY_FIELDS: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "description": (str,),
    "external_study_url": (str,),
    "prolific_id_option": (str,),
    "completion_codes": (list,),
    "reward": (int,),
    "total_available_places": (int,),
    "estimated_completion_time": (int,),
}
"""The required fields of a study."""
OPTIONAL_STUDY_FIELDS: dict[str, tuple[type, ...]] = {
    "internal_name": (str,),
    "maximum_allowed_time": (int,),
    "device_compatibility": (list,),
    "peripheral_requirements": (list,),
    "filters": (list,),
    "submissions_config": (dict,),
    "metadata": (str,),
    "project": (str,),
}
ID_OPTIONS = ("question", "url_parameters", "not_required")
CODE_TYPES = (
    *("COMPLETED", "FAILED_ATTENTION_CHECK", "FOLLOW_UP_STUDY", "GIVE_BONUS", "INCOMPATIBLE_DEVICE", "NO_CONSENT"),
    *("OTHER", "FIXED_SCREENOUT"),
)
CODE_ACTIONS = (
    *("AUTOMATICALLY_APPROVE", "MANUALLY_REVIEW", "REQUEST_RETURN", "ADD_TO_PARTICIPANT_GROUP"),
    *("REMOVE_FROM_PARTICIPANT_GROUP", "FIXED_SCREEN_OUT_PAYMENT"),
)
REJECTION_CATEGORIES = (
    *("TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK", "LOW_EFFORT"),
    *("MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER"),
)
LEAST_MESSAGE = 100
MOST_BONUSES = 200
MOST_APPROVALS = 1_000
LEAST_REWARD_AN_HOUR = 600
"""Cents."""

STUDY_MOVES = {
    "PUBLISH": (("UNPUBLISHED", "SCHEDULED"), "ACTIVE"),
    "PAUSE": (("ACTIVE",), "PAUSED"),
    "START": (("PAUSED",), "ACTIVE"),
    "STOP": (("ACTIVE", "PAUSED"), "AWAITING REVIEW"),
}
"""By action: from which statuses, and to which."""
SUBMISSION_MOVES = {
    "RESERVED": ("ACTIVE", "RETURNED", "TIMED-OUT"),
    "ACTIVE": ("AWAITING REVIEW", "RETURNED", "TIMED-OUT", "SCREENED OUT"),
    "TIMED-OUT": ("AWAITING REVIEW", "RETURNED"),
    "AWAITING REVIEW": ("APPROVED", "REJECTED", "RETURNED", "SCREENED OUT"),
    "REJECTED": ("APPROVED",),
    "APPROVED": (),
    "RETURNED": (),
    "SCREENED OUT": (),
}
OCCUPYING = ("RESERVED", "ACTIVE", "AWAITING REVIEW", "APPROVED")
"""Statuses of submissions that take a place of their study."""
_ID = re.compile(r"[0-9a-f]{24}")


class BadRequest(Exception):
    """What the platform answers with status 400 or another one."""

    def __init__(self, detail: Any, status: int = 400) -> None:
        super().__init__(str(detail))
        self.detail, self.status = detail, status


def check_study(values: Mapping[str, Any], *, is_whole: bool) -> None:
    """Raise BadRequest for fields that are missing, unknown, of another type, or of no use."""
    wrong: dict[str, list[str]] = {}
    if is_whole:
        wrong = {name: ["This field is required."] for name in STUDY_FIELDS if values.get(name) in (None, "")}
    for name, value in values.items():
        types = STUDY_FIELDS.get(name) or OPTIONAL_STUDY_FIELDS.get(name)
        if types is None:
            wrong[name] = ["Unknown field."]
        elif not isinstance(value, types) or isinstance(value, bool):
            wrong[name] = [f"Not a valid {types[0].__name__}."]
        elif isinstance(value, int) and value < 1:
            wrong[name] = ["Ensure this value is greater than or equal to 1."]
    if wrong:
        raise BadRequest(wrong)
    if "external_study_url" in values and not urlsplit(values["external_study_url"]).netloc:
        raise BadRequest({"external_study_url": ["Enter a valid URL."]})
    if values.get("prolific_id_option", ID_OPTIONS[0]) not in ID_OPTIONS:
        raise BadRequest({"prolific_id_option": ["Not a valid choice."]})
    _check_codes(values.get("completion_codes", ()))
    for each in values.get("filters", ()):
        selects = isinstance(each, dict) and {"selected_values", "selected_range"} & each.keys()
        if not selects or not each.get("filter_id"):
            raise BadRequest({"filters": ["Each filter needs filter_id and selected_values or selected_range."]})


def _check_codes(codes: Any) -> None:
    if not isinstance(codes, list | tuple):
        raise BadRequest({"completion_codes": ["Not a list."]})
    seen = set()
    for each in codes:
        if not isinstance(each, dict) or not {"code", "code_type", "actions"} <= each.keys():
            raise BadRequest({"completion_codes": ["code, code_type and actions are required."]})
        if each["code_type"] not in CODE_TYPES or each["code"] in seen:
            raise BadRequest({"completion_codes": [f"{each['code_type']} is no type, or the code is there twice."]})
        seen.add(each["code"])
        for action in each["actions"]:
            if action.get("action") not in CODE_ACTIONS:
                raise BadRequest({"completion_codes": [f"{action} is no action."]})
            if action["action"] == "REQUEST_RETURN" and not action.get("return_reason"):
                raise BadRequest({"completion_codes": ["return_reason is required."]})
    if codes and not any(each["code_type"] == "COMPLETED" for each in codes):
        raise BadRequest({"completion_codes": ["One code of the type COMPLETED is required."]})


def check_publishable(study: Mapping[str, Any]) -> None:
    """Raise BadRequest for pay below the platform's least."""
    hourly = study["reward"] * 60 / study["estimated_completion_time"]
    if hourly < LEAST_REWARD_AN_HOUR:
        raise BadRequest(f"The reward is {hourly:.0f} cents an hour; the least is {LEAST_REWARD_AN_HOUR}.")


def check_rejection(body: Mapping[str, Any]) -> None:
    if body.get("rejection_category") not in REJECTION_CATEGORIES:
        raise BadRequest({"rejection_category": ["Not a valid choice."]})
    if len(str(body.get("message", ""))) < LEAST_MESSAGE:
        raise BadRequest({"message": [f"Must be at least {LEAST_MESSAGE} characters."]})


def read_bonuses(text: Any) -> dict[str, int]:
    """Return the cents of each id, from lines of an id and an amount in units of the currency."""
    if not isinstance(text, str):
        raise BadRequest({"csv_bonuses": ["This field is required."]})
    found: dict[str, int] = {}
    for line in filter(None, text.split("\n")):
        who, comma, amount = line.partition(",")
        if not comma or _ID.fullmatch(who) is None or re.fullmatch(r"\d+(\.\d{1,2})?", amount) is None or who in found:
            raise BadRequest({"csv_bonuses": [f"“{line}” is no bonus."]})
        found[who] = round(float(amount) * 100)
    if not 1 <= len(found) <= MOST_BONUSES:
        raise BadRequest({"csv_bonuses": [f"1 to {MOST_BONUSES} bonuses."]})
    return found

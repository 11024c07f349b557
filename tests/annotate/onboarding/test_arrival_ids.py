"""The ids in the address of an arrival: what is taken, and what is refused before anybody is looked up."""

from typing import Any

import pytest

from annotate.models import Panel
from annotate.onboarding.arrival_ids import BadLink, ForgedLink, Ids, read_ids, sign

PROLIFIC = {"platform": Panel.Platform.PROLIFIC}
HEX = "5f1e0c" * 4


def make_unsaved_panel(**over: Any) -> Panel:
    values = {"platform": Panel.Platform.GENERIC, "participant_parameter": "participant", "token": "t" * 22, **over}
    return Panel(**values)


def read(panel: Panel, **query: str | list[str]) -> Ids:
    return read_ids(panel, {name: [value] if isinstance(value, str) else value for name, value in query.items()})


@pytest.mark.parametrize(
    ("terms", "query", "ids"),
    [
        ({}, {"participant": "pia", "session": "s1", "study": "s2"}, Ids("pia")),
        ({}, {"participant": "p" * 128}, Ids("p" * 128)),
        ({}, {"participant": "none-such"}, Ids("none-such")),
        ({"session_parameter": "session"}, {"participant": "pia", "session": "s1"}, Ids("pia", "s1")),
        # A panel that names no study takes participants of any.
        ({"study_parameter": "study"}, {"participant": "pia", "study": "any"}, Ids("pia", study="any")),
        ({"study_parameter": "study", "study_id": "a"}, {"participant": "pia", "study": "a"}, Ids("pia", study="a")),
        (PROLIFIC, {"participant": HEX}, Ids(HEX)),
    ],
)
def test_the_ids_are_those_of_the_parameters_that_the_panel_names(
    terms: dict[str, str], query: dict[str, str], ids: Ids
) -> None:
    assert read(make_unsaved_panel(**terms), **query) == ids


@pytest.mark.parametrize(
    ("terms", "query", "message"),
    [
        ({}, {}, "has no participant"),
        ({}, {"participant": ["pia", "pia"]}, "twice"),
        ({}, {"participant": "p" * 129}, "not an ID"),
        ({}, {"participant": "SESSION_ID"}, "not an ID"),
        *[({}, {"participant": name}, "not an ID") for name in ("undefined", "null", "None", "NaN")],
        (PROLIFIC, {"participant": HEX[1:]}, "not an ID"),
        (PROLIFIC, {"participant": HEX.upper()}, "not an ID"),
        ({"session_parameter": "session"}, {"participant": "pia"}, "has no session"),
        ({"study_parameter": "study"}, {"participant": "pia"}, "has no study"),
        ({"study_parameter": "study", "study_id": "a"}, {"participant": "pia", "study": "b"}, "another study"),
        ({"study_id": "a"}, {"participant": "pia", "study": "a"}, "another study"),
    ],
)
def test_an_address_that_does_not_say_who_arrives_is_refused(
    terms: dict[str, str], query: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadLink, match=message):
        read(make_unsaved_panel(**terms), **query)


def test_a_signature_holds_for_one_participant_and_session_of_one_panel() -> None:
    panel = make_unsaved_panel(session_parameter="session")
    right = sign(panel, "pia", "s1")
    arrival = {"participant": "pia", "session": "s1"}
    assert not read(panel, **arrival).is_signed
    assert read(panel, **arrival, signature=right).is_signed
    other_panel = make_unsaved_panel(session_parameter="session", token="u" * 22)
    for wrong in ("", right[:-1], [right, right], sign(panel, "ben", "s1"), sign(panel, "pia", "s2")):
        with pytest.raises(ForgedLink):
            read(panel, **arrival, signature=wrong)
    with pytest.raises(ForgedLink):
        read(other_panel, **arrival, signature=right)

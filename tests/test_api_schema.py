"""The API does what its description says: cases made from it find no 5xx and no answer of another shape.

Who may ask is the matter of the walk over all routes.
"""

import os
import zlib
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from hypothesis import HealthCheck
from hypothesis import settings as amount
from pytest_django import Settings
from schemathesis import Case
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation import meta
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import ignored_auth, negative_data_rejection

from projects.language.characters import remove_forbidden
from projects.models import Guesses, Membership, Project
from tests.factories import make_batch, make_corpus
from tests.projects.api.client import Script

SCALE = int(os.environ.get("SCALE", "1"))
EXAMPLES = 2 * SCALE
SHARE = 1 if SCALE > 1 else 3
"""One of so many boundary cases of a parameter or a field is sent: there are thousands. `make soak` sends all."""

N_PARTS = 4
"""Every fourth route, so that no single test is long: the other processes would wait for it at the end."""

LATE = ("body_overrides", "dictionaries")
"""Modules of schemathesis that pytest would rewrite in the middle of a case, where Hypothesis forbids to recurse."""

for name in LATE:
    import_module(f"schemathesis.generation.{name}")

pytestmark = pytest.mark.django_db

schema = schemathesis.pytest.from_fixture("described")


@pytest.fixture(autouse=True)
def _unlimited(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.API_REQUESTS_PER_MINUTE = 1_000_000
    monkeypatch.setattr(Guesses, "MOST", 1_000_000)


@pytest.fixture(params=range(N_PARTS))
def described(request: pytest.FixtureRequest, project: Project, annotator: Membership) -> Iterator[BaseSchema]:
    """A part of the API in this process, on the connection and in the transaction of the test."""
    make_corpus(project, n_candidates=3)
    make_batch(project)
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    made = schemathesis.openapi.from_wsgi("/api/v1/schema/", app=whole(get_wsgi_application()))
    made.config.generation.update(allow_x00=False)
    paths = made.raw_schema["paths"]
    made.raw_schema["paths"] = {path: paths[path] for path in sorted(paths)[request.param :: N_PARTS]}
    yield made
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def without_forbidden(part: Any) -> Any:
    """No text holds these characters, and no pattern of OpenAPI says so briefly."""
    if isinstance(part, str):
        return remove_forbidden(part)
    if isinstance(part, dict):
        return {without_forbidden(key): without_forbidden(value) for key, value in part.items()}
    return [without_forbidden(each) for each in part] if isinstance(part, list) else part


def whole(app: Any) -> Any:
    """Give answers as a whole and close them: the files that came with a request go with it."""

    def answer(environ: Any, start_response: Any) -> list[bytes]:
        response = app(environ, start_response)
        try:
            return [b"".join(response)]
        finally:
            response.close()

    return answer


def is_chosen(case: Case[Any]) -> bool:
    """Choose by the content of the case, so that each run sends the same ones."""
    if case.meta is None or case.meta.phase.name is not meta.TestPhase.COVERAGE:
        return True
    parts = (case.operation.label, case.path_parameters, case.query, case.headers, case.body)
    return zlib.crc32(repr(parts).encode("utf-8", "backslashreplace")) % SHARE == 0


@pytest.fixture
def script(owner: Membership) -> Script:
    return Script(owner, can_write=True)


@schema.parametrize()
@amount(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_every_answer_is_as_described(case: Case[Any], script: Script, project: Project, annotator: Membership) -> None:
    if not is_chosen(case):
        return
    wrong = {where for where, part in case.meta.components.items() if part.mode.is_negative} if case.meta else set()
    if ParameterLocation.PATH not in wrong:
        case.path_parameters |= {"slug": project.slug} if "slug" in case.path_parameters else {}
        case.path_parameters |= {"number": 1} if "number" in case.path_parameters else {}
        if "pseudonym" in case.path_parameters:
            case.path_parameters["pseudonym"] = annotator.pseudonym
    all_is_text = case.media_type == "multipart/form-data"  # so nothing in it is of a wrong type
    is_put_right = wrong <= {ParameterLocation.HEADER, ParameterLocation.COOKIE}  # by the token that is sent
    case.body, case.query = without_forbidden(case.body), without_forbidden(case.query)
    case.call_and_validate(
        headers={"Authorization": f"Bearer {script.secret}"},
        excluded_checks=[ignored_auth, *([negative_data_rejection] if all_is_text or is_put_right else [])],
    )

"""Running a study: its kind names the function that computes it."""

from typing import Any

import orjson
from django.utils.module_loading import import_string

from projects.running import OnProgress
from results.models import Study

KINDS: dict[str, str] = {}
"""Every kind of study, and the function from a study and a progress function to what JSON can hold."""


def run(study: Study, on_progress: OnProgress) -> dict[str, Any]:
    """The act of the job: what comes of the study, as JSON holds it."""
    on_progress(0, 0)
    found = import_string(KINDS[study.kind])(study, on_progress)
    return {"result": orjson.loads(orjson.dumps(found, option=orjson.OPT_SERIALIZE_NUMPY))}

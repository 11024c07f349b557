"""What Sentry gets to know of an error: its kind and its place, and nothing of what people wrote."""

import json
import os
import subprocess
import sys

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env, error_reports

# In a process of its own: the library changes Django, Celery and logging for good.
SCRIPT = """
import json, logging
import django
django.setup()
from sentry_sdk.transport import Transport
from config import error_reports

sent = []
class Fake(Transport):
    def capture_envelope(self, envelope):
        sent.extend(item.payload.json for item in envelope.items)

error_reports.start("https://key@sentry.example.org/1", transport=Fake)
from django.test import Client
from projects.accounts import urls

def fail(request):
    answer = request.POST["password"]
    raise ValueError(f"cannot store {answer}")

(sign_in,) = (pattern for pattern in urls.urlpatterns if pattern.name == "sign-in")
fail.policy = sign_in.callback.policy
sign_in.callback = fail
client = Client(raise_request_exception=False)
client.cookies["session"] = "the-secret-cookie"
answer = client.post("/sign-in/?q=the+secret+query", {"password": "the secret password"},
    headers={"authorization": "Bearer the-secret-token"})
logging.getLogger("concord").error("Job %s failed: %s", 7, "the secret text")
print(json.dumps({"status": answer.status_code, "id": answer["X-Request-ID"], "sent": sent}))
"""


def test_a_report_has_the_place_and_none_of_the_texts() -> None:
    variables = {"DJANGO_SETTINGS_MODULE": "config.settings", "LOG_FORMAT": "json"}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=env.BASE_DIR,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["status"] == 500
    error, line = told["sent"]
    (raised,) = error["exception"]["values"]
    assert (raised["type"], error["transaction"]) == ("ValueError", "/sign-in/")
    assert raised["stacktrace"]["frames"][-1]["function"] == "fail"
    assert error["tags"] == {"request_id": told["id"]}
    assert line["logentry"] == {"message": "Job %s failed: %s"}
    for report in told["sent"]:
        assert set(report) <= {*error_reports.KEPT, "exception", "logentry", "tags", "sdk"}
    assert "secret" not in json.dumps(told["sent"])
    assert "the-secret-cookie" not in run.stderr


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentry_sdk", None)
    with pytest.raises(ImproperlyConfigured, match="Run make sentry"):
        error_reports.start("https://key@sentry.example.org/1")

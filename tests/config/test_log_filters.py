"""What the log keeps of a refused request: its line, and no traceback."""

import pytest

from projects.models import Membership
from tests.people import SignIn


@pytest.mark.django_db
def test_a_refusal_is_logged_without_a_traceback(
    annotator: Membership, client_of: SignIn, caplog: pytest.LogCaptureFixture
) -> None:
    assert client_of(annotator).get("/p/bridges/batches/").status_code == 403
    (record,) = [record for record in caplog.records if record.name == "django.request"]
    assert "Forbidden" in record.getMessage()
    assert "/p/bridges/batches/" in record.getMessage()
    assert record.exc_info is None
    assert "Traceback" not in caplog.text

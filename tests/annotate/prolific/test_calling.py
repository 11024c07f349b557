"""The client of Prolific's API, against a platform that is slow, busy, broken, and changes its answers."""

import pytest

from annotate.prolific import calling
from annotate.prolific.calling import NoAnswer, PlatformError, Unreachable
from demo.fake_prolific.api import Reply
from demo.fake_prolific.http_server import serve
from tests.fakes.prolific import Fake, study_values

ME = "/api/v1/users/me/"
STUDIES = "/api/v1/studies/"


def test_a_busy_or_broken_platform_is_asked_again_where_that_is_harmless(fake: Fake) -> None:
    """A GET is repeated after 429, 500 and a lost answer; a POST after 429 alone, which did nothing."""
    fake.fail("429", value="7")
    fake.fail("500")
    fake.fail("lost")
    client = fake.client()
    assert client.get(ME)["currency_code"] == "GBP"
    assert fake.waits == [7.0, 2.0, 4.0]
    assert client.answered_at == fake.now.replace(microsecond=0)
    fake.fail("429", value="Fri, 31 Dec 9999 23:59:59 GMT")
    with pytest.raises(PlatformError, match="asks to wait"):
        client.get(ME)  # longer than it would wait
    fake.fail("429")
    made = client.post(STUDIES, study_values())
    assert made["status"] == "UNPUBLISHED"
    for kind, error in (("500", PlatformError), ("lost", NoAnswer)):
        fake.api.calls.clear()
        fake.fail(kind)
        with pytest.raises(error):
            client.post(STUDIES, study_values())
        assert len(fake.api.calls) == 1
    assert len(fake.platform.studies) == 2  # the lost one was done
    fake.fail("500")
    assert client.patch(f"{STUDIES}{made['id']}/", {"total_available_places": 11})["total_available_places"] == 11
    fake.fail("500", n=9)
    with pytest.raises(PlatformError, match="status 500"):
        client.get(ME)
    assert fake.count_calls("GET", "/users/me/") == 4


def test_an_answer_that_is_too_slow_or_too_long_is_none(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.fail("slow", seconds=0.5)
    with pytest.raises(NoAnswer, match="didn’t answer"):
        fake.client(call_seconds=0.1, patience=0).get(ME)
    monkeypatch.setattr(calling, "MOST_BYTES", 10)
    with pytest.raises(NoAnswer):
        fake.client(patience=0).get(ME)


def test_lists_are_followed_to_their_end_and_nowhere_else(fake: Fake) -> None:
    study = fake.client().post(STUDIES, study_values(total_available_places=50))["id"]
    fake.client().post(f"{STUDIES}{study}/transition/", {"action": "PUBLISH"})
    for _ in range(45):
        fake.platform.reserve(study, fake.platform.draw_participant())
    path = f"{STUDIES}{study}/submissions/"
    assert len(list(fake.client().list_all(path))) == 45
    assert len(list(fake.client().list_all(path, {"page_size": 15}))) == 45  # ends with a full page
    with pytest.raises(PlatformError, match="doesn’t know"):
        fake.client().get(path, {"page": 4})
    fake.api.url, kept = "https://elsewhere.example", fake.api.url
    with pytest.raises(PlatformError, match="another host"):
        list(fake.client().list_all(path))
    fake.api.url = kept


def test_what_the_platform_refuses_is_said_without_ids_and_without_the_token(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(PlatformError, match="token") as refusal:
        fake.client(token="wrong").get(ME)
    assert "wrong" not in str(refusal.value) + repr(fake.client(token="wrong"))
    with pytest.raises(PlatformError, match="refused: ") as refusal:
        fake.client().post(STUDIES, study_values(reward=None))
    assert refusal.value.status == 400
    made = fake.client().post(STUDIES, study_values())["id"]
    with pytest.raises(PlatformError, match="took no part") as refusal:
        fake.client().post(
            "/api/v1/submissions/bonus-payments/", {"study_id": made, "csv_bonuses": f"{'a1' * 12},1.00"}
        )
    assert "a1a1" not in str(refusal.value)
    assert "…" in str(refusal.value)
    fake.fail("field removed", value="status")
    with pytest.raises(PlatformError, match="no “status”"):
        calling.require_text(fake.client().get(f"{STUDIES}{made}/"), "status")
    fake.fail("field removed", value="results")
    with pytest.raises(PlatformError, match="no “results”"):
        list(fake.client().list_all(STUDIES))
    monkeypatch.setattr(fake.api, "_answer", lambda *_: Reply(200, ["surprise"]))
    with pytest.raises(PlatformError, match="not an object"):
        fake.client().get(ME)
    with pytest.raises(PlatformError, match="not an object"):
        fake.client().post(STUDIES, {})
    for broken in ("x", True, None, float("nan")):
        with pytest.raises(PlatformError):
            calling.require_number({"amount": broken}, "amount")


def test_a_platform_that_is_not_there_was_sent_nothing(fake: Fake) -> None:
    with serve(fake.api) as gone:
        pass
    with pytest.raises(Unreachable):
        fake.client(url=gone, patience=0).post(STUDIES, study_values())
    with pytest.raises(Unreachable, match="can’t be found"):
        fake.client(url="http://no-such-host.invalid", patience=0).get(ME)

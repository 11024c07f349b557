"""API tokens: shown once, kept hashed, never reaching further than their member, ended at once."""

import hashlib
import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from projects.api import tokens
from projects.errors import Refused
from projects.models import ApiToken, LogEntry, Membership
from tests.page_reader import condense
from tests.people import SignIn
from tests.projects.api.client import Script

pytestmark = pytest.mark.django_db


def page(name: str, member: Membership, *more: int) -> str:
    return reverse(f"projects:{name}", args=[member.project.slug, *more])


def make(client: Client, member: Membership, **over: str) -> str:
    sent = {"name": "weekly figures", "may": "read", "days": "30", "key": str(uuid4()), **over}
    return condense(client.post(page("token-new", member), sent).content.decode())


def find_key(text: str) -> str:
    found = re.search(r'name="key" value="([^"]+)"', text)
    assert found is not None
    return found[1]


def secret_in(text: str) -> str:
    found = re.search(r"readonly[^>]*>(concord_[\w-]+)</textarea>", text)
    assert found is not None
    return found[1]


def test_a_token_is_shown_once_and_only_its_hash_is_kept(researcher: Membership, client_of: SignIn) -> None:
    client = client_of(researcher)
    secret = secret_in(make(client, researcher))
    assert len(secret.removeprefix(tokens.MARK)) * 6 >= 256
    token = ApiToken.objects.get()
    assert token.token_sha256 == hashlib.sha256(secret.encode()).hexdigest()
    assert timedelta(days=29, hours=23) < token.expires_at - timezone.now() <= timedelta(days=30)
    assert secret not in str(ApiToken.objects.values()) + str(LogEntry.objects.values())
    for again in ("token-list", "token-new"):
        text = client.get(page(again, researcher)).content.decode()
        assert secret not in text
    assert str(token) in client.get(page("token-list", researcher)).content.decode()
    assert LogEntry.objects.get(act="make token").actor == researcher


def test_a_form_that_is_sent_twice_makes_one_token(researcher: Membership, client_of: SignIn) -> None:
    client, key = client_of(researcher), str(uuid4())
    secret = secret_in(make(client, researcher, key=key))
    assert secret_in(make(client, researcher, key=key)) == secret
    assert secret_in(make(client, researcher)) != secret
    assert ApiToken.objects.count() == LogEntry.objects.filter(act="make token").count() == 2
    token = tokens.find_token(secret)
    assert token is not None
    tokens.revoke(token=token, actor=researcher)
    assert "already created and has ended" in make(client, researcher, key=key)
    assert "The form was incomplete." in make(client, researcher, key="x")
    assert ApiToken.objects.count() == 2


def test_a_key_brings_each_member_another_token(researcher: Membership, manager: Membership) -> None:
    key = uuid4()
    assert len({tokens.make_token(membership=each, name="x", key=key)[1] for each in (researcher, manager)}) == 2


def test_a_researchers_token_that_writes_allows_no_more_than_the_researcher(
    researcher: Membership, client_of: SignIn
) -> None:
    secret = secret_in(make(client_of(researcher), researcher, may="write"))
    script = Client(headers={"Authorization": f"Bearer {secret}"})
    root = f"/api/v1/projects/{researcher.project.slug}/"
    assert script.post(f"{root}batches/", {"judgments": 1}, content_type="application/json").status_code == 403
    # Computing a metric changes no judgment: the researcher may, and is told here which metrics there are.
    assert script.post(f"{root}metrics/", {"metric": "x"}, content_type="application/json").status_code == 409


def test_a_token_that_reads_starts_nothing(manager: Membership) -> None:
    _, secret = tokens.make_token(membership=manager, name="x")
    script = Client(headers={"Authorization": f"Bearer {secret}"})
    root = f"/api/v1/projects/{manager.project.slug}/"
    for path in ("metrics/", "studies/", "invitations/", "plans/", "payments/"):
        answer = script.post(root + path, {}, content_type="application/json")
        assert (answer.status_code, answer.json()["detail"]) == (403, "This token is read-only.")


def test_an_annotator_has_no_token(annotator: Membership) -> None:
    with pytest.raises(Refused, match="researchers and managers"):
        tokens.make_token(membership=annotator, name="x")


def test_rotating_leaves_the_old_one_a_day(manager: Membership, client_of: SignIn) -> None:
    old, secret = tokens.make_token(membership=manager, name="import", can_write=True, days=60)
    key = find_key(client_of(manager).get(page("token-list", manager)).text)
    answer = client_of(manager).post(page("token-rotate", manager, old.pk), {"key": key})
    fresh = tokens.find_token(secret_in(answer.content.decode()))
    assert fresh is not None
    assert (fresh.name, fresh.can_write) == ("import", True)
    assert timedelta(days=59, hours=23) < fresh.expires_at - timezone.now() <= timedelta(days=60, seconds=1)
    old.refresh_from_db()
    assert timedelta(hours=23) < old.expires_at - timezone.now() <= timedelta(days=1)
    assert tokens.find_token(secret) is not None
    tokens.revoke(token=old, actor=manager)
    with pytest.raises(Refused, match="has expired"):
        tokens.rotate(token=old)


def test_a_token_that_no_longer_works_says_where_there_is_another(manager: Membership) -> None:
    script = Script(manager)
    now = timezone.now()
    for ended, says in (
        (
            {"created_at": now - timedelta(2), "expires_at": now - timedelta(1)},
            "This token has expired. Create a new one",
        ),
        ({"revoked_at": now}, "This token has been revoked. Create a new one"),
    ):
        ApiToken.objects.update(**ended)
        answer = script.get(script.root)
        assert answer.status_code == 401
        assert answer.json()["detail"].startswith(says)
    cut = Client(headers={"Authorization": f"Bearer {script.secret[:-3]}"}).get(script.root)
    assert cut.json()["detail"] == "Unknown token. Check that all of it was copied: it begins with concord_."


def test_a_reload_rotates_no_second_time(manager: Membership, client_of: SignIn) -> None:
    """The same form shows the same token again; each token of the list has a successor of its own."""
    first, second = (tokens.make_token(membership=manager, name=name)[0] for name in ("first", "second"))
    client = client_of(manager)
    key = find_key(client.get(page("token-list", manager)).text)
    secrets = [
        secret_in(client.post(page("token-rotate", manager, token.pk), {"key": key}).text)
        for token in (first, first, second)
    ]
    assert secrets[0] == secrets[1] != secrets[2]
    assert (manager.tokens.count(), LogEntry.objects.filter(act="rotate token").count()) == (4, 2)
    successor = tokens.find_token(secrets[0])
    assert successor is not None
    tokens.revoke(token=successor, actor=manager)
    again = client.post(page("token-rotate", manager, first.pk), {"key": key}, follow=True).text
    assert "its successor has ended" in again
    assert "nothing was rotated" in client.post(page("token-rotate", manager, first.pk), follow=True).text
    assert manager.tokens.count() == 4


def test_managers_end_any_token_and_others_their_own(
    manager: Membership, researcher: Membership, client_of: SignIn
) -> None:
    theirs, _ = tokens.make_token(membership=manager, name="theirs")
    mine, _ = tokens.make_token(membership=researcher, name="mine")
    assert "theirs" not in client_of(researcher).get(page("token-list", researcher)).content.decode()
    assert client_of(researcher).post(page("token-revoke", researcher, theirs.pk)).status_code == 404
    assert client_of(manager).post(page("token-rotate", manager, mine.pk)).status_code == 404
    assert client_of(manager).post(page("token-revoke", manager, mine.pk)).status_code == 302
    mine.refresh_from_db()
    assert mine.revoked_at is not None
    assert LogEntry.objects.get(act="revoke token").actor == manager


def test_there_is_an_end_to_how_many_one_may_have(researcher: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MOST_USABLE", 1)
    tokens.make_token(membership=researcher, name="one")
    with pytest.raises(Refused, match="Revoke one first"):
        tokens.make_token(membership=researcher, name="two")


def test_a_token_brings_its_member_project_and_account_in_one_statement(
    manager: Membership, researcher: Membership
) -> None:
    token, secret = tokens.make_token(membership=manager, name="script")
    tokens.make_token(membership=researcher, name="another")
    tokens.find_token(secret)
    with CaptureQueriesContext(connection) as queries:
        found = tokens.find_token(secret)
        assert found is not None
        assert (found.pk, found.membership.pk) == (token.pk, manager.pk)
        assert (found.membership.project, found.membership.user) == (manager.project, manager.user)
    assert [query["sql"].split()[0] for query in queries] == ["EXECUTE"]


def test_the_token_of_an_erased_account_has_no_user(manager: Membership) -> None:
    _, secret = tokens.make_token(membership=manager, name="script")
    assert manager.user is not None
    Membership.objects.filter(pk=manager.pk).update(user=None, kind=Membership.Kind.IMPORTED, imported_name="erased")
    found = tokens.find_token(secret)
    assert found is not None
    assert found.membership.user is None
    assert tokens.find_token(secret + "x") is None

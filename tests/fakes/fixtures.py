"""One fake platform for all tests of a module, empty at the start of each."""

from collections.abc import Iterator

import pytest
from django.utils import timezone
from pytest_django import Settings

from annotate.prolific import accounts
from demo.fake_prolific.api import TOKEN
from projects.models import Membership
from tests.fakes.prolific import Fake, fake_prolific


@pytest.fixture(scope="module")
def shared() -> Iterator[Fake]:
    with fake_prolific() as fake:
        yield fake


@pytest.fixture
def fake(shared: Fake) -> Fake:
    for kept in (shared.api.faults, shared.api.calls, shared.waits, shared.platform.outbox, shared.platform.approving):
        kept.clear()
    for held in (shared.platform.studies, shared.platform.submissions, shared.platform.bonuses):
        held.clear()
    for other in (shared.platform.groups, shared.platform.secrets, shared.platform.subscriptions):
        other.clear()
    shared.platform.paid.clear()
    shared.now = timezone.now()
    return shared


@pytest.fixture
def connected(fake: Fake, owner: Membership, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """The fake as the project's platform; nothing waits."""
    settings.PROLIFIC_API_URL = fake.url
    settings.PROLIFIC_TOKEN = ""
    monkeypatch.setattr(accounts, "make_client", lambda token, **_: fake.client(token=token))
    accounts.connect(actor=owner, token=TOKEN)
    return fake

"""Whoever deletes a project reads first what is unfinished in it."""

from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from annotate.batches import lifecycle
from annotate.models import Batch, Panel
from annotate.payments import paying
from annotate.work import serving, submitting
from projects.models import Membership, Project
from tests.annotate.open_batches import answered, open_batch
from tests.annotate.panels.samples import make_panel
from tests.factories import make_membership, make_project
from tests.page_reader import condense
from tests.people import SignIn

pytestmark = pytest.mark.django_db


def test_the_page_that_deletes_a_project_says_what_is_unfinished(
    client_of: SignIn, project: Project, owner: Membership, manager: Membership, annotator: Membership
) -> None:

    def show() -> str:
        return condense(client_of(owner).get(f"/p/{project.slug}/settings/delete/").content.decode())

    assert "This project is not finished" not in show()
    batch = open_batch(project, n_hits=2)
    uuid = serving.claim(annotator)
    assert isinstance(uuid, UUID)
    make_panel(manager)
    paying.add_entry(annotator=annotator, actor=manager, kind="bonus", cents=1_250, why="For care.", key=uuid4())
    page = show()
    for sentence in (
        "1 HIT in progress: what its annotator has not submitted yet",
        "1 open batch.",
        "1 panel: people whom the platform sends",
        "$12.50 that 1 annotator has earned and not been paid.",
    ):
        assert sentence in page
    # Work of another project is its own.
    other = make_membership(make_project("elsewhere"), role=Membership.Role.OWNER)
    assert "not finished" not in client_of(other).get(f"/p/{other.project.slug}/settings/delete/").text
    lifecycle.close(batch=Batch.objects.get(pk=batch.pk), actor=manager)
    Panel.objects.update(ended_at=timezone.now())
    page = show()
    assert "open batch" not in page
    assert "panel:" not in page
    assert "1 HIT in progress" in page
    submitting.submit(annotator=annotator, assignment_uuid=uuid, sent=answered())
    page = show()
    assert "1 submission awaits a decision." in page
    assert "HIT in progress" not in page

import pytest

from annotate import serving
from annotate.models import Batch
from projects.models import Instructions, Membership, Project
from tests.annotate.work import open_batch
from tests.factories import make_instructions
from tests.people import SignIn

pytestmark = pytest.mark.django_db


def version(project: Project, number: int) -> Instructions:
    return make_instructions(project, f"The words of version {number}.")


def test_annotators_read_the_version_that_their_work_is_done_under(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    """A newer version is for batches made from now on."""
    pinned = version(project, 2)
    batch = open_batch(project, instructions=pinned)
    found = serving.claim(annotator)
    version(project, 3)
    client = client_of(annotator)
    page = client.get(f"/p/bridges/work/{found}/").content.decode()
    assert f"/p/bridges/instructions/?hit={found}" in page
    assert "version 2" in client.get(f"/p/bridges/instructions/?hit={found}").content.decode()
    assert "version 2" in client.get("/p/bridges/instructions/").content.decode()
    Batch.objects.filter(pk=batch.pk).update(state=Batch.State.CLOSED)
    assert "version 2" in client.get(f"/p/bridges/instructions/?hit={found}").content.decode()
    assert "version 3" in client.get("/p/bridges/instructions/").content.decode()


@pytest.mark.parametrize("hit", ["", "x", "00000000-0000-0000-0000-000000000000", "%00"])
def test_a_hit_that_is_not_the_readers_shows_the_newest(
    project: Project, annotator: Membership, client_of: SignIn, hit: str
) -> None:
    version(project, 2)
    assert "version 2" in client_of(annotator).get(f"/p/bridges/instructions/?hit={hit}").content.decode()

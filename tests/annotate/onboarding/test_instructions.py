from dataclasses import replace

import pytest

from annotate.attempts import attempts
from annotate.models import Batch, BatchAnnotator
from annotate.onboarding import instructions
from annotate.work import serving
from measures.rubric_presets import DEFAULT_PRESET, PRESETS
from projects.models import Instructions, InstructionsReading, Membership, Project
from projects.rubric.rubrics import create_rubric
from tests.annotate.open_batches import open_batch
from tests.annotate.qualification.factories import make_test
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


def test_whoever_confirmed_the_version_of_a_batch_needs_no_newer_one(project: Project, annotator: Membership) -> None:
    pinned = version(project, 2)
    Instructions.objects.create(project=project, version=3, text="Nobody has read these.")
    instructions.require_instructions(annotator, pinned)
    with pytest.raises(instructions.InstructionsFirst):
        instructions.require_instructions(annotator, None)


@pytest.mark.parametrize("hit", ["", "x", "00000000-0000-0000-0000-000000000000", "%00"])
def test_a_hit_that_is_not_the_readers_shows_the_newest(
    project: Project, annotator: Membership, client_of: SignIn, hit: str
) -> None:
    version(project, 2)
    assert "version 2" in client_of(annotator).get(f"/p/bridges/instructions/?hit={hit}").content.decode()


def longer_rubric(project: Project) -> None:
    """A newer version of the rubric with one more criterion, which tells the versions apart."""
    (known,) = PRESETS[DEFAULT_PRESET].criteria
    criteria = [known, replace(known, key="fluency", name="Fluency of the new rubric")]
    create_rubric(project, name="Longer", preset="custom", criteria=criteria)


@pytest.mark.parametrize("purpose", ["test", "practice"])
def test_an_attempt_shows_the_rubric_and_the_instructions_of_its_test(
    project: Project, annotator: Membership, other_annotator: Membership, client_of: SignIn, purpose: str
) -> None:
    version(project, 2)
    make_test(project, n_practice=1)
    attempt = attempts.begin(annotator=annotator, purpose=purpose)
    longer_rubric(project)
    open_batch(project, instructions=version(project, 3))
    address = f"/p/bridges/instructions/?attempt={attempt.uuid}"
    client = client_of(annotator)
    page = client.get(f"/p/bridges/qualification/attempts/{attempt.uuid}/", follow=True).content.decode()
    assert f'href="{address}"' in page
    page = client.get(address).content.decode()
    assert ("version 2" in page, "Fluency of the new rubric" in page) == (True, False)
    theirs = client_of(other_annotator).get(address).content.decode()
    assert ("version 2" in theirs, "Fluency of the new rubric" in theirs) == (False, True)


def test_the_page_to_confirm_shows_the_rubric_of_the_batch_that_waits(
    project: Project, annotator: Membership, other_annotator: Membership, client_of: SignIn
) -> None:
    """Two batches go by one version of the instructions; the first is for somebody else."""
    pinned = version(project, 2)
    batch = open_batch(project, instructions=pinned)
    longer_rubric(project)
    first = open_batch(project, instructions=pinned, priority=5, has_named_annotators=True)
    BatchAnnotator.objects.create(batch=first, annotator=other_annotator)
    InstructionsReading.objects.filter(membership=annotator).delete()
    client = client_of(annotator)
    sent = client.post("/p/bridges/work/")
    address = f"/p/bridges/instructions/{pinned.version}/read/?next=work&batch={batch.number}"
    assert sent.headers["Location"] == address
    assert "Fluency of the new rubric" not in client.get(address).content.decode()
    for other in (first.number, batch.number + 1_000, "x", "", "٣", "9" * 30):
        asked = client.get(f"/p/bridges/instructions/{pinned.version}/read/?batch={other}")
        assert "Fluency of the new rubric" in asked.content.decode(), other

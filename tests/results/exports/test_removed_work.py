"""Work that its annotator has removed is in no file and in no list of the API from then on."""

import io

import pytest

from annotate.models import Item, Judgment
from annotate.onboarding import consent
from projects.models import Membership, Project
from results.exports.formats import Choices, make_statement
from results.exports.streaming import write
from tests.annotate.quality.scripted_annotators import GOOD, crew
from tests.factories import make_consent
from tests.projects.api.client import Script

pytestmark = pytest.mark.django_db
FORMS = ("long", "jsonl", "controls")


def export(project: Project, form: str) -> str:
    file = io.BytesIO()
    write(make_statement(form, Choices(project=project, with_comments=True)), file)
    return file.getvalue().decode()


def add_control(annotator: Membership) -> None:
    """A rating of a control on the annotator's first HIT."""
    source = Judgment.objects.filter(annotator=annotator).earliest("pk")
    item = Item.objects.create(
        pool_of=source.assignment.hit.batch,
        question=source.item.question,
        position=annotator.pk,
        control="repeat",
        made_from=source.item,
        shown_text="shown",
    )
    Judgment.objects.create(
        assignment=source.assignment, item=item, annotator=annotator, criterion=source.criterion, value=source.value
    )


def test_no_export_and_no_list_has_it(project: Project, researcher: Membership) -> None:
    _batch, (leaving, staying) = crew(project, GOOD, GOOD, n_hits=2, n_items=3)
    for annotator in (leaving, staying):
        add_control(annotator)
    consent.agree(annotator=leaving, version=make_consent(project).version)
    script = Script(researcher)

    def list_annotators() -> set[str]:
        return {each["annotator"] for each in script.read("judgments/")["results"]}

    assert list_annotators() == {leaving.pseudonym, staying.pseudonym}
    assert all(leaving.pseudonym in export(project, form) for form in FORMS)
    consent.withdraw(annotator=leaving, removes_work=True)
    assert list_annotators() == {staying.pseudonym}
    for form in FORMS:
        text = export(project, form)
        assert staying.pseudonym in text, form
        assert leaving.pseudonym not in text, form

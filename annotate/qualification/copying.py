"""Copying the qualification test of a project into a new one, as a draft."""

from annotate.models import QualificationItem, QualificationTest
from annotate.qualification.design import SETTINGS
from projects.models import Project
from projects.rubric.rubrics import current_rubric
from projects.settings.copying import copies
from projects.texts.versions import current_instructions

ITEM = (
    *("purpose", "position", "passage_title", "passage_text", "question", "references", "answer", "expected"),
    *("tolerance", "explanation"),
)
"""What is copied of an item; the candidate that it was made from belongs to the other project's data."""


@copies
def copy_test(source: Project, project: Project) -> None:
    """Copy the settings and the items in use; attempts and qualifications belong to people and stay behind."""
    test = QualificationTest.objects.filter(project=source).first()
    rubric = current_rubric(project)
    if test is None or rubric is None:
        return
    settings = {name: getattr(test, name) for name in SETTINGS}
    made = QualificationTest.objects.create(
        project=project, rubric=rubric, instructions=current_instructions(project), **settings
    )
    QualificationItem.objects.bulk_create(
        QualificationItem(test=made, **{name: getattr(item, name) for name in ITEM})
        for item in test.items.filter(retired_at=None)
    )

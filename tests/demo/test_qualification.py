import pytest

from annotate.models import QualificationTest
from annotate.qualification import design
from demo import corpus, making
from projects.models import Membership, Project


@pytest.mark.django_db
def test_the_demo_has_a_test_that_can_be_opened(project: Project, manager: Membership) -> None:
    making._make_test(manager)
    test = QualificationTest.objects.get(project=project)
    answers = corpus.qualification_answers()
    assert test.state == "draft"
    assert test.items.count() == len(answers) == 10
    made = [(item.answer, item.expected["correctness"], item.tolerance) for item in test.items.all()]
    assert made == [(each.candidate, [each.expected] * 2, each.tolerance) for each in answers]
    assert all(item.explanation and item.passage_text and item.references for item in test.items.all())
    design.open_test(test=test, actor=manager)

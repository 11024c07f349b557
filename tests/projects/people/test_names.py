"""Who reads real names: managers, and nobody else."""

import re

import pytest
from django.conf import settings

from projects.access import may_see_names
from projects.models import Membership
from projects.templatetags.people import name_for

pytestmark = pytest.mark.django_db

ACTOR = r"[\w.]+\.(?:actor|adjudicator|reviewer|(?:created|made|requested|settled)_by)"
WITHOUT_NAMES = "the only names on a page of other people come from name_for"


def test_managers_and_owners_read_names(owner: Membership, manager: Membership, annotator: Membership) -> None:
    assert annotator.user
    for viewer in (owner, manager):
        assert may_see_names(viewer)
        assert name_for(annotator, viewer) == annotator.user.get_username()


def test_researchers_and_annotators_read_pseudonyms(
    researcher: Membership, annotator: Membership, other_annotator: Membership
) -> None:
    for viewer in (researcher, annotator):
        assert not may_see_names(viewer)
        assert name_for(other_annotator, viewer) == other_annotator.pseudonym


def test_a_suspended_manager_reads_no_names(manager: Membership, annotator: Membership) -> None:
    manager.standing = Membership.Standing.SUSPENDED
    assert name_for(annotator, manager) == annotator.pseudonym


def test_an_imported_annotator_goes_by_the_name_in_the_file(manager: Membership, annotator: Membership) -> None:
    annotator.user, annotator.imported_name = None, "rater 7"
    assert name_for(annotator, manager) == "rater 7"
    annotator.imported_name = None
    assert name_for(annotator, manager) == annotator.pseudonym


def test_no_template_decides_it_alone() -> None:
    """A member's own account page, and pages that managers alone open about one account, name the account itself."""
    own = {"projects/people/join.html", "projects/people/member_show.html", "projects/people/reset_link_show.html"}
    own |= {"projects/people/list.html"}
    folder = settings.BASE_DIR / "templates"
    for path in sorted(folder.rglob("*.html")):
        name = path.relative_to(folder).as_posix()
        found = re.findall(r"\w+\.user\.get_(?:username|full_name)", path.read_text())
        assert not found or name in own, f"{name}: {WITHOUT_NAMES}"


def test_every_page_marks_the_acts_of_its_reader() -> None:
    """Nobody knows their own pseudonym by heart."""
    folder = settings.BASE_DIR / "templates"
    for path in sorted(folder.rglob("*.html")):
        text = path.read_text()
        actors = set(re.findall(rf"{{{{ ({ACTOR})(?:\.pseudonym(?:\|default:[^}}]+)?)? }}}}", text))
        marked = set(re.findall(rf"{{{{ ({ACTOR})\|you_if:membership }}}}", text))
        assert actors <= marked, f"{path.relative_to(folder)}: {actors - marked}"

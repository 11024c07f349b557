"""Members: who may change whom, and the page that does it."""

from threading import Thread

import pytest
from django.db import connection, transaction
from django.urls import reverse

from projects.accounts import users
from projects.errors import Refused
from projects.models import LogEntry, Membership, Project, User
from projects.people import members
from projects.templatetags.people import name_for
from tests.concurrency import all_at_once
from tests.factories import make_membership, make_user
from tests.page_reader import condense
from tests.people import SignIn

Role, Standing = Membership.Role, Membership.Standing

pytestmark = pytest.mark.django_db


def path(name: str, member: Membership) -> str:
    return reverse(f"projects:member-{name}", args=[member.project.slug, member.pseudonym])


@pytest.mark.parametrize("actor_role", [Role.OWNER, Role.MANAGER])
@pytest.mark.parametrize("old", list(Role))
@pytest.mark.parametrize("new", list(Role))
def test_who_may_give_which_role_to_whom(owner: Membership, actor_role: str, old: str, new: str) -> None:
    actor = make_membership(owner.project, role=actor_role)
    target = make_membership(owner.project, role=old)
    low = (Role.ANNOTATOR, Role.RESEARCHER)
    if actor_role == Role.OWNER or (old in low and new in low):
        members.change_role(target=target, role=new, actor=actor)
        expected = new
    else:
        with pytest.raises(Refused):
            members.change_role(target=target, role=new, actor=actor)
        expected = old
    target.refresh_from_db()
    assert target.role == expected
    assert LogEntry.objects.filter(act="change role").count() == (old != expected)


@pytest.mark.parametrize("role", [Role.RESEARCHER, Role.ANNOTATOR])
def test_whoever_does_not_manage_changes_nobody(owner: Membership, annotator: Membership, role: str) -> None:
    actor = make_membership(owner.project, role=role)
    with pytest.raises(Refused):
        members.change_role(target=annotator, role=Role.RESEARCHER, actor=actor)
    with pytest.raises(Refused):
        members.set_standing(target=annotator, standing=Standing.REMOVED, actor=actor)


def test_a_right_lost_a_moment_ago_counts(owner: Membership, manager: Membership, annotator: Membership) -> None:
    stale = Membership.objects.get(pk=manager.pk)
    members.set_standing(target=manager, standing=Standing.SUSPENDED, actor=owner)
    with pytest.raises(Refused):
        members.change_role(target=annotator, role=Role.RESEARCHER, actor=stale)


def test_the_last_owner_stays(owner: Membership) -> None:
    for role in (Role.MANAGER, Role.ANNOTATOR):
        with pytest.raises(Refused):
            members.change_role(target=owner, role=role, actor=owner)
    second = make_membership(owner.project, role=Role.OWNER)
    members.set_standing(target=second, standing=Standing.SUSPENDED, actor=owner)
    with pytest.raises(Refused):
        members.change_role(target=owner, role=Role.MANAGER, actor=owner)
    members.set_standing(target=second, standing=Standing.ACTIVE, actor=owner)
    members.change_role(target=owner, role=Role.MANAGER, actor=owner)
    owner.refresh_from_db()
    assert owner.role == Role.MANAGER


def test_an_owner_whose_account_is_disabled_is_none_to_leave_a_project_to(owner: Membership) -> None:
    second = make_membership(owner.project, role=Role.OWNER)
    assert second.user is not None
    users.set_active(user=second.user, is_active=False)
    with pytest.raises(Refused, match="needs an owner"):
        members.change_role(target=owner, role=Role.MANAGER, actor=owner)
    members.change_role(target=second, role=Role.MANAGER, actor=owner)
    members.change_role(target=second, role=Role.OWNER, actor=owner)
    users.set_active(user=second.user, is_active=True)
    members.change_role(target=owner, role=Role.MANAGER, actor=owner)


@pytest.mark.django_db(transaction=True)
@pytest.mark.race
def test_nobody_stays_for_as_long_as_an_import_is_written(owner: Membership, annotator: Membership) -> None:
    def remove() -> None:
        try:
            members.set_standing(target=annotator, standing=Standing.REMOVED, actor=owner)
        finally:
            connection.close()

    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=owner.project_id)
        other = Thread(target=remove)
        other.start()
        other.join(10)
        annotator.refresh_from_db()
        is_removed = annotator.standing == Standing.REMOVED
    other.join()
    assert is_removed


@pytest.mark.django_db(transaction=True)
@pytest.mark.race
def test_two_owners_who_step_down_at_once_leave_one(owner: Membership) -> None:
    owners = [owner, make_membership(owner.project, role=Role.OWNER)]

    def step_down(n: int) -> bool:
        try:
            members.change_role(target=owners[n], role=Role.MANAGER, actor=owners[n])
        except Refused:
            return False
        return True

    assert sum(all_at_once(step_down, range(2))) == 1


def test_annotators_annotate_and_others_may(owner: Membership, researcher: Membership, annotator: Membership) -> None:
    members.set_annotates(target=researcher, annotates=True, actor=owner)
    researcher.refresh_from_db()
    assert researcher.is_annotator
    with pytest.raises(Refused):
        members.set_annotates(target=annotator, annotates=False, actor=owner)
    members.set_annotates(target=researcher, annotates=False, actor=owner)
    members.change_role(target=researcher, role=Role.ANNOTATOR, actor=owner)
    researcher.refresh_from_db()
    assert researcher.is_annotator


def test_nobody_changes_their_own_standing_or_an_imported_annotator(owner: Membership) -> None:
    with pytest.raises(Refused):
        members.set_standing(target=owner, standing=Standing.SUSPENDED, actor=owner)
    imported = make_membership(owner.project, kind=Membership.Kind.IMPORTED, imported_name="W1")
    with pytest.raises(Refused):
        members.change_role(target=imported, role=Role.MANAGER, actor=owner)


def test_suspending_and_removing_count_from_the_next_request(
    manager: Membership, researcher: Membership, client_of: SignIn
) -> None:
    page = reverse("projects:rubric-show", args=[researcher.project.slug])
    theirs = client_of(researcher)
    assert theirs.get(page).status_code == 200
    for standing, status in (("suspended", 403), ("active", 200), ("removed", 403), ("active", 200)):
        members.set_standing(target=researcher, standing=standing, actor=manager)
        assert theirs.get(page).status_code == status


def test_the_member_page_changes_role_and_annotating(
    owner: Membership, researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(owner)
    assert client.get(path("show", researcher)).status_code == 200
    client.post(path("role", researcher), {"role": "manager", "standing": "removed"})
    client.post(path("annotates", researcher), {"is_annotator": "1"})
    researcher.refresh_from_db()
    assert (researcher.role, researcher.is_annotator, researcher.standing) == ("manager", True, "active")
    client.post(path("annotates", researcher), {})
    client.post(path("role", researcher), {"role": "god"})
    researcher.refresh_from_db()
    assert (researcher.role, researcher.is_annotator, researcher.standing) == ("manager", False, "active")


def test_names_are_for_managers(
    manager: Membership, researcher: Membership, annotator: Membership, client_of: SignIn
) -> None:
    assert annotator.user is not None
    User.objects.filter(pk=annotator.user.pk).update(first_name="Annabel", email="annabel@example.org")
    page = reverse("projects:people-list", args=[manager.project.slug])
    assert "Annabel" in client_of(manager).get(page).content.decode()
    assert client_of(researcher).get(page).status_code == 403
    log = client_of(manager).get(reverse("projects:log-list", args=[manager.project.slug])).content.decode()
    assert "Annabel" not in log


def test_the_list_filters_sorts_and_pages_by_url(manager: Membership, client_of: SignIn) -> None:
    for n in range(60):
        make_membership(manager.project, make_user(f"person-{n:02}"))
    make_membership(manager.project, kind=Membership.Kind.IMPORTED, imported_name="Worker 7")
    page, client = reverse("projects:people-list", args=[manager.project.slug]), client_of(manager)

    def body(**query: str) -> str:
        return condense(client.get(page, query).content.decode())

    assert "person-00" in body()
    assert "person-59" not in body()
    assert "person-59" in body(page="2")
    assert "person-59" in body(sort="-name")
    assert "person-33" in body(q="ON-33")
    assert "person-34" not in body(q="ON-33")
    assert "Worker 7" in body(kind="imported")
    assert "person-" not in body(kind="imported")
    assert "No members match" in body(role="researcher")
    assert client.get(page, {"sort": "password", "role": "x", "page": "zz"}).status_code == 200


def test_members_are_found_and_sorted_by_the_name_that_the_page_shows(manager: Membership, client_of: SignIn) -> None:
    for username, first, last in (("zilo", "Ada", "Byron"), ("mo", "", "Curie"), ("bob", "", ""), ("alo", "Zoe", "Ng")):
        user = make_user(username)
        User.objects.filter(pk=user.pk).update(first_name=first, last_name=last)
        make_membership(manager.project, user)
    make_membership(manager.project, kind=Membership.Kind.IMPORTED, imported_name="Worker 7")
    nameless = make_membership(manager.project, kind=Membership.Kind.UNKNOWN)
    page, client = reverse("projects:people-list", args=[manager.project.slug]), client_of(manager)

    def names(**query: str) -> list[str]:
        rows = client.get(page, query).context["page"]
        return [name_for(row, manager) for row in rows if row != manager]

    assert names(q="ada byron") == names(q="Byron") == names(q="ZILO") == ["Ada Byron"]
    shown = ["Ada Byron", "bob", "Curie", "Worker 7", "Zoe Ng", nameless.pseudonym]
    assert names(sort="name") == sorted(shown, key=str.lower)
    assert names(sort="-name") == sorted(shown, key=str.lower, reverse=True)


def test_a_filter_that_is_not_valid_leaves_the_others_and_is_said(manager: Membership, client_of: SignIn) -> None:
    make_membership(manager.project, make_user("person"))
    page, client = reverse("projects:people-list", args=[manager.project.slug]), client_of(manager)
    assert "was ignored" not in client.get(page, {"q": "person"}).text
    found = client.get(page, {"q": "person", "role": "none of these"})
    assert [member.user.username for member in found.context["page"]] == ["person"]
    assert "Part of the filter is not valid and was ignored." in found.text


def test_the_list_takes_few_queries(
    manager: Membership, client_of: SignIn, django_assert_max_num_queries: object
) -> None:
    for n in range(40):
        make_membership(manager.project, make_user(f"person-{n:02}"))
    client = client_of(manager)
    with django_assert_max_num_queries(8):  # type: ignore[operator]
        page = client.get(reverse("projects:people-list", args=[manager.project.slug]))
    assert b"person-39" in page.content


def test_a_member_of_another_project_is_not_here(manager: Membership, client_of: SignIn) -> None:
    from tests.factories import make_project

    other = make_membership(make_project("other"))
    for name in ("show", "role", "annotates", "reset-link"):
        url = reverse(f"projects:member-{name}", args=[manager.project.slug, other.pseudonym])
        assert client_of(manager).post(url, {"standing": "removed"}).status_code == (405 if name == "show" else 404)
        assert client_of(manager).get(url).status_code == (404 if name == "show" else 405)
    other.refresh_from_db()
    assert other.standing == Standing.ACTIVE


def test_a_command_acts_in_the_name_of_the_first_owner(owner: Membership) -> None:
    project = owner.project
    later = make_membership(project, role=Role.OWNER)
    assert members.find_owner(project, for_what="sets are frozen") == owner
    Membership.objects.filter(pk__in=[owner.pk, later.pk]).update(role=Role.MANAGER)
    with pytest.raises(Refused, match=r"no active owner, in whose name sets are frozen\. Enable"):
        members.find_owner(project, for_what="sets are frozen")


def test_a_command_never_acts_for_an_owner_who_cannot(owner: Membership) -> None:
    suspended, able = (make_membership(owner.project, role=Role.OWNER) for _ in range(2))
    members.set_standing(target=suspended, standing=Standing.SUSPENDED, actor=able)
    assert owner.user is not None
    assert able.user is not None
    users.set_active(user=owner.user, is_active=False)
    assert members.find_owner(owner.project, for_what="sets are frozen") == able
    users.set_active(user=able.user, is_active=False)
    with pytest.raises(Refused, match="no active owner"):
        members.find_owner(owner.project, for_what="sets are frozen")

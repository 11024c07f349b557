"""Fixtures: one project and the people who come to it, named for their roles."""

from collections.abc import Callable

import pytest
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client
from pytest_django import Settings

from projects.models import Membership, Project, User
from tests.factories import make_membership, make_project, make_user

Role = Membership.Role
SignIn = Callable[[Membership | User], Client]
"""What `client_of` gives: a client that is signed in as somebody."""


@pytest.fixture
def project(db: None) -> Project:
    return make_project("bridges", name="Bridges")


@pytest.fixture
def owner(project: Project) -> Membership:
    return make_membership(project, make_user("olga"), role=Role.OWNER)


@pytest.fixture
def manager(project: Project) -> Membership:
    return make_membership(project, make_user("mara"), role=Role.MANAGER)


@pytest.fixture
def researcher(project: Project) -> Membership:
    return make_membership(project, make_user("rolf"), role=Role.RESEARCHER)


@pytest.fixture
def annotator(project: Project) -> Membership:
    return make_membership(project, make_user("anna"))


@pytest.fixture
def other_annotator(project: Project) -> Membership:
    return make_membership(project, make_user("otto"))


@pytest.fixture
def stranger(db: None) -> User:
    """Somebody with an account and no membership here."""
    return make_user("stella")


@pytest.fixture
def quick_passwords(settings: Settings) -> None:
    """Hashing that costs nothing, for tests that sign in often."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def client_of() -> SignIn:
    return sign_in


def sign_in(person: Membership | User) -> Client:
    """Return a browser in which this person is signed in; its POSTs need no CSRF token."""
    user = person.user if isinstance(person, Membership) else person
    assert user is not None
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = start_session(user)
    return client


def start_session(user: User) -> str:
    """Return the key of a session that the user is signed in with.

    To sign in by a client asks 16 statements, and what it does beside the session is tested where people sign in.
    """
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    assert session.session_key
    return session.session_key

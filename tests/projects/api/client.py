"""Asking the API as a script does: with a token and nothing else."""

from typing import Any

from django.test import Client

from projects.api import tokens
from projects.models import Membership

ROOT = "/api/v1/projects/"


class Script(Client):
    """A client with a token and no cookies; paths are those within the project."""

    def __init__(self, member: Membership, *, can_write: bool = False) -> None:
        self.token, self.secret = tokens.make_token(membership=member, name="script", can_write=can_write)
        super().__init__(headers={"Authorization": f"Bearer {self.secret}"}, raise_request_exception=False)
        self.root = f"{ROOT}{member.project.slug}/"

    def read(self, path: str = "", **query: Any) -> Any:
        """What is given, which must be there."""
        response = self.get(self.root + path, query)
        assert response.status_code == 200, response.content
        return response.json()

    def send(self, path: str, sent: Any) -> Any:
        return self.post(self.root + path, sent, content_type="application/json")


def wrong_fields(response: Any) -> set[str]:
    """The fields that a problem names."""
    assert response["Content-Type"] == "application/problem+json", response.content
    problem = response.json()
    assert problem["status"] == response.status_code
    return {error["field"] for error in problem.get("errors", ())}

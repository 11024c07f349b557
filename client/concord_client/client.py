"""The client of one site."""

import os
from typing import Any

import pandas as pd

from .connection import Connection
from .frames import make_frame
from .project import Project


class Client:
    """A site and a token.

    Parameters
    ----------
    url : the address of the site, such as https://rate.example.org; CONCORD_URL if omitted.
    token : an API token of the project; CONCORD_TOKEN if omitted. It is sent in a header and never shown.
    allow_http : send the token unencrypted to a host other than this machine.

    Raises ValueError without an address or a token, and for an address that would expose the token.

    """

    def __init__(self, url: str = "", *, token: str = "", allow_http: bool = False) -> None:
        url, token = url or os.environ.get("CONCORD_URL", ""), token or os.environ.get("CONCORD_TOKEN", "")
        self._connection = Connection(url, token, allow_http=allow_http)

    @property
    def url(self) -> str:
        return self._connection.url

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def projects(self) -> pd.DataFrame:
        """Return the project that the token opens, with your role in it, as a frame."""
        rows: list[dict[str, Any]] = [
            {**row["project"], "role": row["role"], "pseudonym": row["pseudonym"]}
            for row in self._connection.list_rows("projects/")
        ]
        return make_frame(rows)

    def project(self, slug: str) -> Project:
        """Return the project of this short name; nothing is requested yet."""
        return Project(self._connection, slug)

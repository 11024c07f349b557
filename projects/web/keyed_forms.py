"""Forms that are one act if they are sent twice, by a reload or a double click: by a key, or by the newest number."""

import secrets
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from typing import Any, TypeVar

from django import forms
from django.db.models import Max, Model
from django.utils.crypto import salted_hmac

from projects.models import Membership, Project
from projects.web.whole_numbers import parse_whole_number

Row = TypeVar("Row", bound=Model)

TOKEN_BYTES = 32


class KeyedForm(forms.Form):
    """A form whose hidden key its act takes, so that the act is done once."""

    key = forms.UUIDField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A new key for each blank form, kept when the form is shown again with errors: only then is a form that is sent
        # twice one act, and the same thing done twice two.
        if not self.is_bound:
            self.initial.setdefault("key", uuid.uuid4())

    def clean(self) -> dict[str, Any]:
        """Report a broken key at the top of the form, since its field is hidden, and replace it."""
        if "key" in self.errors:
            self.data = {**dict(self.data.items()), "key": str(uuid.uuid4())}
            self.add_error(None, "The form was incomplete. Check it and send it again.")
        return self.cleaned_data


def find_newest(project: Project, model: type[Model]) -> int:
    """Return the newest number of the project's rows of this model, which the form of another one sends along."""
    found = model._default_manager.filter(project=project).aggregate(newest=Max("number"))
    return found["newest"] or 0


def find_made_before(made: Row, *, newest: str, alike: Sequence[str]) -> Row | None:
    """Return the row that the same form has made before: later than the newest one then, and the same in `alike`.

    Rows are numbered one after another, so the caller, who has just made another one, sees it, and takes that back.
    """
    number = parse_whole_number(newest)
    if number is None:
        return None
    values = {name: getattr(made, name) for name in ("project", *alike)}
    rows = type(made)._default_manager.filter(number__gt=number, **values).exclude(pk=made.pk)
    return rows.order_by("number").first()


def make_secret(purpose: str, actor: Membership, key: uuid.UUID | None = None) -> str:
    """Return a secret nobody can guess: a random one, or with a key the one that this member always gets for it.

    Only its hash is stored, and still the same form shows the same secret again. Whoever knows the key can't compute it
    without SECRET_KEY.
    """
    if key is None:
        return secrets.token_urlsafe(TOKEN_BYTES)
    digest = salted_hmac(__name__, f"{purpose}:{actor.pk}:{key.hex}", algorithm="sha256").digest()
    return urlsafe_b64encode(digest).decode().rstrip("=")

"""Refusals on pages: an error message, or an error of the form that was sent."""

from contextlib import AbstractContextManager
from types import TracebackType

from django import forms
from django.contrib import messages
from django.http import HttpRequest

from projects.errors import Refused
from projects.web.previews import PreviewChanged


class refusals(AbstractContextManager[None, bool]):  # noqa: N801 - read as a statement: with refusals(request)
    """Show a `Refused` raised inside the block to the reader and continue after it; other exceptions pass through.

    Put what follows a success into the block, and what follows a refusal after it. A form gets the error at the field
    that the refusal names, else at `field`, else as a whole. Open a transaction inside the block, so that it rolls back
    before the refusal is caught. A preview that no longer holds is always a message: its form is still valid and is
    shown again with a new preview.
    """

    def __init__(
        self, request: HttpRequest, form: forms.BaseForm | None = None, *, field: str = "", with_details: bool = False
    ) -> None:
        self.request = request
        self.form = form
        self.field = field
        self.with_details = with_details

    def __enter__(self) -> None:
        return None

    # With the return type bool a type checker knows that the code after the block can be reached.
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if not isinstance(error, Refused):
            return False
        details = error.details if self.with_details else []
        if self.form is None or isinstance(error, PreviewChanged):
            messages.error(self.request, " ".join([error.message, *details]))
        else:
            field = error.field if error.field in self.form.fields else self.field
            self.form.add_error(field or None, [error.message, *details])
        return True

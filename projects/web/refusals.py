"""What a page says where an act refuses: an error message, or an error of the form that asked for the act."""

from contextlib import AbstractContextManager
from types import TracebackType

from django import forms
from django.contrib import messages
from django.http import HttpRequest

from projects.errors import Refused


class refusals(AbstractContextManager[None, bool]):  # noqa: N801 - read as a statement: with refusals(request)
    """Tell the reader of a `Refused` raised inside, and go on after the block; nothing else is swallowed.

    What is to follow a success stands in the block, what is to follow a refusal after it. A form is told at the field
    that the refusal names, else at `field`, else as a whole. A transaction belongs inside: it has to roll back first.
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

    # The return type is a plain bool: by it a type checker knows that the code after the block is reached.
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if not isinstance(error, Refused):
            return False
        details = error.details if self.with_details else []
        if self.form is None:
            messages.error(self.request, " ".join([error.message, *details]))
        else:
            field = error.field if error.field in self.form.fields else self.field
            self.form.add_error(field or None, [error.message, *details])
        return True

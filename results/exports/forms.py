"""The form of an export."""

from typing import Any

from django import forms

from projects.models import Project
from results.scope.forms import ScopeForm


class ExportForm(ScopeForm):
    texts = forms.BooleanField(required=False, label="Texts of passages, questions, references and candidates")
    comments = forms.BooleanField(
        required=False,
        label="Annotators' comments",
        help_text="Free text that may contain personal data.",
    )

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(project, *args, any_criterion=True, **kwargs)

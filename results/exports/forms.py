"""The form of an export."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from projects.models import Project
from results.scope.forms import ScopeForm


class ExportForm(ScopeForm):
    texts = forms.BooleanField(
        required=False, label=gettext_lazy("Texts of passages, questions, references and candidates")
    )
    comments = forms.BooleanField(
        required=False,
        label=gettext_lazy("Annotators' comments"),
        help_text=gettext_lazy("Free text: people may have written personal data."),
    )

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(project, *args, any_criterion=True, **kwargs)

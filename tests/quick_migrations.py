"""Migrations in tests: the same statements, for a tenth of the work.

For every operation Django makes each model again that is related to the changed one, however far away, and each field
from its arguments: nine seconds for an empty database, of which the statements take one.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.migrations.state import ProjectState
from django.db.migrations.utils import field_is_referenced
from django.db.models import Field
from django.utils.functional import cached_property

_clone, _append = Field.clone, ProjectState._append_option  # type: ignore[attr-defined]
_reload, _alter = ProjectState.reload_model, ProjectState.alter_field


def use_quick_states() -> None:
    """From now on a field is copied, and a changed model is made again without those that are related to it."""
    _use(_copy_field, _append_option, _reload_alone, _alter_field)


@contextmanager
def states_of_django() -> Iterator[None]:
    """Migrate as the site does, to compare the two."""
    _use(_clone, _append, _reload, _alter)
    try:
        yield
    finally:
        use_quick_states()


def _use(clone: Any, append: Any, reload: Any, alter: Any) -> None:
    Field.clone = clone  # type: ignore[method-assign]
    ProjectState._append_option = append  # type: ignore[attr-defined]
    ProjectState.reload_model = reload  # type: ignore[method-assign]
    ProjectState.alter_field = alter  # type: ignore[method-assign]


def _copy_field(field: Any) -> Any:
    """Return the field as its arguments make it: without a name, and with nothing that it has computed since."""
    if hasattr(field, "base_field"):
        return _clone(field)
    made = copy.deepcopy(field)  # Django's own way, which copies neither choices nor validators
    for owner in (made, made.remote_field):
        for name in [*vars(owner)] if owner else ():
            if isinstance(getattr(type(owner), name, None), cached_property):
                del vars(owner)[name]
    made.name = None
    made.creation_counter = Field.creation_counter
    Field.creation_counter += 1
    return made


def _append_option(state: ProjectState, app_label: str, model_name: str, option: str, added: Any) -> None:
    """Add an index or a constraint to the options of the model, without making the model again."""
    options = state.models[app_label, model_name].options
    options[option] = [*options[option], added]
    if "apps" in vars(state):
        meta = state.apps.get_model(app_label, model_name)._meta
        setattr(meta, option, [*getattr(meta, option), added])


def _reload_alone(state: ProjectState, app_label: str, model_name: str, delay: bool = False) -> None:
    """Make this model again. Relations to it are found by its name, and have the columns that they had.

    Django makes all models again before a function of a migration.
    """
    if "apps" in vars(state):
        state.is_delayed = True
        state._reload({(app_label, model_name)})  # type: ignore[attr-defined]


def _alter_field(
    state: ProjectState, app_label: str, model_name: str, name: str, field: Field[Any, Any], *others: Any
) -> None:
    """Alter the field; if keys of other models point at it, make these again too: their columns take its type."""
    _alter(state, app_label, model_name, name, field, *others)
    if field_is_referenced(state, (app_label, model_name), (name, field)):
        _reload(state, app_label, model_name, delay=True)

"""Whether a database has a row of everything that there can be."""

from django.apps import apps
from django.db import connection

OURS = ("results", "annotate", "projects")
"""Our apps, from the one that depends on all others down."""
NEVER_FILLED = {
    *("auth_group", "auth_group_permissions", "projects_user_groups", "projects_user_user_permissions"),
    *("axes_accessattempt", "axes_accessattemptexpiration", "axes_accessfailurelog", "axes_accesslog"),
    *("django_admin_log", "django_session"),
    *("account_emailaddress", "account_emailconfirmation", "socialaccount_socialapp", "socialaccount_socialtoken"),
}
"""Tables of libraries that the site writes nothing to, or only what it soon forgets."""
OF_NO_PROJECT = {"projects_user", "projects_pulse", "projects_guesses"}
NEVER_SO = {("Invitation", "role"): {"owner"}}
"""What a constraint refuses."""


def empty_tables() -> list[str]:
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT NOT EXISTS (SELECT 1 FROM {connection.ops.quote_name(table)})")
            if cursor.fetchone()[0] and table not in NEVER_FILLED:
                found.append(table)
    return found


def tables_of_projects() -> list[str]:
    """The tables of our apps that are not empty, besides those of people and processes."""
    own = {model._meta.db_table for app in OURS for model in apps.get_app_config(app).get_models()}
    return sorted(own - OF_NO_PROJECT - set(empty_tables()))


def missing_kinds() -> list[str]:
    """The kinds, states and roles that a column may have and no row has."""
    found = []
    for model in (model for app in OURS for model in apps.get_app_config(app).get_models()):
        for field in model._meta.concrete_fields:
            allowed = {value for value, _ in field.flatchoices} - NEVER_SO.get((model.__name__, field.name), set())
            there = set(model._base_manager.values_list(field.name, flat=True)) if allowed else set()
            found += [f"{model.__name__}.{field.name} {value}" for value in sorted(map(str, allowed - there))]
    return found

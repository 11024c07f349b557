"""Read-only admin pages for the operator of the site; every change belongs to an act of the app."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin
from django.contrib.auth import admin as auth_admin
from django.contrib.auth.models import Group
from django.core.exceptions import BadRequest, FieldDoesNotExist
from django.db import DataError
from django.db.models import Model
from django.http import HttpRequest, HttpResponse

from projects.models import Criterion, Invitation, LogEntry, Membership, Project, Rubric, User

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Model]
else:
    ModelAdmin = admin.ModelAdmin

admin.site.disable_action("delete_selected")
# Second factors and linked identities are changed by their owner or by a command, which logs it. Groups come below.
admin.site.unregister((Authenticator, EmailAddress, SocialAccount, SocialApp, SocialToken, Group))


class StrictAdmin(ModelAdmin):
    """A table whose pages answer 400 to what is wrong in an address."""

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the rows, or answer 400 to a lookup that the database can't take, such as one with NUL."""
        try:
            return super().changelist_view(request, extra_context)
        except (DataError, ValueError) as error:
            if not request.GET:  # it names no lookup, so the fault is another one
                raise
            raise BadRequest(f"A lookup in the address is wrong: {error}") from error

    def to_field_allowed(self, request: HttpRequest, to_field: str) -> bool:
        # Django's own takes it for a column, and fails if it is the name of a relation of another table to this one.
        with suppress(FieldDoesNotExist):
            return self.opts.get_field(to_field).concrete and super().to_field_allowed(request, to_field)
        return False


class Inspected(StrictAdmin):
    """A table that can be read and searched, and not changed."""

    list_per_page = 50
    show_full_result_count = False  # a search must not count the whole table, such as the audit log, as well

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


# Groups give staff who are no superusers the right to see single tables.
@admin.register(Group)
class GroupAdmin(StrictAdmin, auth_admin.GroupAdmin):
    pass


@admin.register(User)
class UserAdmin(Inspected):
    list_display = ("username", "is_active", "is_staff", "can_create_projects", "last_login")
    list_filter = ("is_active", "is_staff", "can_create_projects")
    search_fields = ("username",)
    exclude = ("password",)


@admin.register(Project)
class ProjectAdmin(Inspected):
    list_display = ("slug", "name", "created_at", "deleted_at")
    search_fields = ("slug", "name")


@admin.register(Membership)
class MembershipAdmin(Inspected):
    list_display = ("pseudonym", "project", "kind", "role", "is_annotator", "standing", "joined_at")
    list_filter = ("kind", "role", "standing")
    list_select_related = ("project",)
    search_fields = ("pseudonym",)


@admin.register(Invitation)
class InvitationAdmin(Inspected):
    list_display = ("project", "role", "n_uses", "max_uses", "expires_at", "revoked_at")
    list_select_related = ("project",)
    exclude = ("token_sha256",)


@admin.register(Rubric)
class RubricAdmin(Inspected):
    list_display = ("project", "version", "name", "preset", "frozen_at")
    list_select_related = ("project",)


@admin.register(Criterion)
class CriterionAdmin(Inspected):
    list_display = ("rubric", "key", "kind", "low", "high", "level")
    list_select_related = ("rubric",)


@admin.register(LogEntry)
class LogEntryAdmin(Inspected):
    list_display = ("at", "project", "actor", "act", "object_type", "object_id")
    list_select_related = ("project", "actor")
    search_fields = ("act",)

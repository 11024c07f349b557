"""Read-only inspection of judging by the site's staff."""

from django.contrib import admin

from annotate.models import (
    Assignment,
    Attempt,
    Batch,
    ControlJob,
    Draft,
    Hit,
    Import,
    Item,
    Judgment,
    LedgerEntry,
    Panel,
    Payment,
    Qualification,
    QualificationTest,
    Remark,
)
from projects.admin import Inspected


@admin.register(Batch)
class BatchAdmin(Inspected):
    list_display = ("project", "number", "name", "kind", "state", "judgments", "n_hits", "n_items")
    list_filter = ("state", "kind")
    list_select_related = ("project",)
    search_fields = ("name", "project__slug")


@admin.register(Hit)
class HitAdmin(Inspected):
    list_display = ("id", "batch", "number", "purpose", "places_wanted", "places_open", "places_done")
    list_select_related = ("batch",)
    search_fields = ("=id",)
    raw_id_fields = ("batch", "passage", "reserved_for")


@admin.register(Item)
class ItemAdmin(Inspected):
    list_display = ("id", "hit_id", "position", "candidate_id", "control")
    search_fields = ("=id", "=hit__id")
    raw_id_fields = ("hit", "question", "candidate", "made_from", "accepted_by")


@admin.register(Assignment)
class AssignmentAdmin(Inspected):
    list_display = ("uuid", "hit_id", "annotator", "state", "holds_place", "mark", "opened_at", "submitted_at")
    list_filter = ("state", "mark")
    list_select_related = ("annotator",)
    search_fields = ("=uuid", "=id", "annotator__pseudonym")
    raw_id_fields = ("hit", "annotator")


@admin.register(Judgment)
class JudgmentAdmin(Inspected):
    list_display = ("id", "assignment_id", "item_id", "candidate_id", "criterion", "value", "is_counted")
    list_select_related = ("criterion",)
    search_fields = ("=id", "=assignment__id", "=candidate_id")


@admin.register(Draft)
class DraftAdmin(Inspected):
    list_display = ("assignment_id", "updated_at")


@admin.register(Remark)
class RemarkAdmin(Inspected):
    list_display = ("id", "assignment_id", "item_id", "is_flagged", "resolved_at")


@admin.register(Panel)
class PanelAdmin(Inspected):
    list_display = ("project", "number", "name", "platform", "created_at", "ended_at")
    list_filter = ("platform",)
    list_select_related = ("project",)
    exclude = ("token",)


@admin.register(ControlJob)
class ControlJobAdmin(Inspected):
    list_display = ("batch", "state", "requested_by", "created_at")
    list_filter = ("state",)
    list_select_related = ("batch", "requested_by")


@admin.register(Import)
class ImportAdmin(Inspected):
    list_display = ("project", "number", "kind", "step", "state", "file_name", "created_at")
    list_filter = ("state", "kind")
    list_select_related = ("project",)


@admin.register(LedgerEntry)
class LedgerEntryAdmin(Inspected):
    list_display = ("id", "project", "annotator", "kind", "cents", "key", "approved_at", "payment")
    list_filter = ("kind",)
    list_select_related = ("project", "annotator", "payment")
    search_fields = ("=key", "annotator__pseudonym")


@admin.register(Payment)
class PaymentAdmin(Inspected):
    list_display = ("project", "number", "cents", "n_annotators", "made_by", "made_at")
    list_select_related = ("project", "made_by")


@admin.register(QualificationTest)
class QualificationTestAdmin(Inspected):
    list_display = ("project", "state", "rubric", "pass_share", "max_attempts", "opened_at")
    list_filter = ("state",)
    list_select_related = ("project", "rubric")


@admin.register(Attempt)
class AttemptAdmin(Inspected):
    list_display = ("uuid", "annotator", "purpose", "n", "state", "n_right", "started_at", "finished_at")
    list_filter = ("state", "purpose")
    list_select_related = ("annotator",)
    search_fields = ("=uuid", "annotator__pseudonym")
    raw_id_fields = ("annotator",)


@admin.register(Qualification)
class QualificationAdmin(Inspected):
    list_display = ("annotator", "is_qualified", "rubric", "since", "until")
    list_filter = ("is_qualified",)
    list_select_related = ("annotator", "rubric")
    search_fields = ("annotator__pseudonym",)
    raw_id_fields = ("annotator",)

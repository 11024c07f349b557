"""Routes of annotators' quality and findings."""

from django.urls import path

from annotate.quality import annotator_views, finding_views, views

QUALITY = "p/<slug:slug>/quality/"

urlpatterns = [
    path(QUALITY, views.quality_list, name="quality-list"),
    path(f"{QUALITY}refresh/", views.quality_refresh, name="quality-refresh"),
    path(f"{QUALITY}rules/", views.quality_rules, name="quality-rules"),
    path(f"{QUALITY}controls/", views.quality_controls, name="quality-controls"),
    path(f"{QUALITY}tables/<slug:name>.<str:form>", views.quality_table, name="quality-table"),
    path(f"{QUALITY}findings/", finding_views.finding_list, name="finding-list"),
    path(f"{QUALITY}findings/settle/", finding_views.finding_settle, name="finding-settle"),
    path(f"{QUALITY}<slug:pseudonym>/", annotator_views.annotator_show, name="annotator-show"),
]

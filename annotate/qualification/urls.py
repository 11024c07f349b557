"""Routes of managers' pages of the qualification test."""

from django.urls import path

from annotate.qualification import design_views, item_views

TEST = "p/<slug:slug>/qualification/test/"

urlpatterns = [
    path(TEST, design_views.qualification_test, name="qualification-test"),
    path(f"{TEST}make/", design_views.qualification_make, name="qualification-make"),
    path(f"{TEST}settings/", design_views.qualification_settings, name="qualification-settings"),
    path(f"{TEST}state/", design_views.qualification_state, name="qualification-state"),
    path(f"{TEST}rubric/", design_views.qualification_rubric, name="qualification-rubric"),
    path(f"{TEST}items/new/", item_views.item_new, name="qualification-new-item"),
    path(f"{TEST}items/file/", item_views.items_file, name="qualification-file"),
    path(f"{TEST}items/file/skipped/", item_views.items_file_skipped, name="qualification-file-skipped"),
    path(f"{TEST}items/candidates/", item_views.items_candidates, name="qualification-candidates"),
    path(f"{TEST}items/<int:pk>/", item_views.item_edit, name="qualification-item"),
    path(f"{TEST}items/<int:pk>/preview/", item_views.item_preview, name="qualification-item-preview"),
    path(f"{TEST}items/<int:pk>/retire/", item_views.item_retire, name="qualification-item-retire"),
    path(f"{TEST}attempts/", design_views.qualification_attempts, name="qualification-attempts"),
    path(f"{TEST}attempts/<uuid:attempt_uuid>/", design_views.qualification_attempt, name="qualification-attempt"),
    path(f"{TEST}people/<slug:pseudonym>/", design_views.qualification_person, name="qualification-person"),
]

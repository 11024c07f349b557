"""The routes of qualification: the annotator's pages, then the managers'."""

from django.urls import path

from annotate.views import attempts, qualification, qualification_items

annotators = [
    path("p/<slug:slug>/qualification/", attempts.qualification, name="qualification"),
    path("p/<slug:slug>/qualification/attempts/", attempts.attempt_begin, name="attempt-begin"),
    path("p/<slug:slug>/qualification/attempts/<uuid:attempt_uuid>/", attempts.attempt_show, name="attempt-show"),
    path(
        "p/<slug:slug>/qualification/attempts/<uuid:attempt_uuid>/pages/<int:page>/",
        attempts.attempt_draft,
        name="attempt-draft",
    ),
    path(
        "p/<slug:slug>/qualification/attempts/<uuid:attempt_uuid>/result/",
        attempts.attempt_result,
        name="attempt-result",
    ),
]

TEST = "p/<slug:slug>/qualification/test/"

managers = [
    path(TEST, qualification.qualification_test, name="qualification-test"),
    path(f"{TEST}make/", qualification.qualification_make, name="qualification-make"),
    path(f"{TEST}settings/", qualification.qualification_settings, name="qualification-settings"),
    path(f"{TEST}state/", qualification.qualification_state, name="qualification-state"),
    path(f"{TEST}rubric/", qualification.qualification_rubric, name="qualification-rubric"),
    path(f"{TEST}items/new/", qualification_items.item_new, name="qualification-new-item"),
    path(f"{TEST}items/file/", qualification_items.items_file, name="qualification-file"),
    path(f"{TEST}items/candidates/", qualification_items.items_candidates, name="qualification-candidates"),
    path(f"{TEST}items/<int:pk>/", qualification_items.item_edit, name="qualification-item"),
    path(f"{TEST}items/<int:pk>/preview/", qualification_items.item_preview, name="qualification-item-preview"),
    path(f"{TEST}items/<int:pk>/retire/", qualification_items.item_retire, name="qualification-item-retire"),
    path(f"{TEST}attempts/", qualification.qualification_attempts, name="qualification-attempts"),
    path(f"{TEST}attempts/<uuid:attempt_uuid>/", qualification.qualification_attempt, name="qualification-attempt"),
    path(f"{TEST}people/<slug:pseudonym>/", qualification.qualification_person, name="qualification-person"),
]

urlpatterns = [*annotators, *managers]

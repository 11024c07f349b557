"""The routes of qualification: the annotator's pages, then the managers'."""

from django.urls import path

from annotate.views import attempts

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

urlpatterns = [*annotators]

"""Routes of an annotator's attempts at the qualification test and at practice."""

from django.urls import path

from annotate.attempts import views

ATTEMPTS = "p/<slug:slug>/qualification/attempts/"
ATTEMPT = f"{ATTEMPTS}<uuid:attempt_uuid>/"

urlpatterns = [
    path("p/<slug:slug>/qualification/", views.qualification, name="qualification"),
    path(ATTEMPTS, views.attempt_begin, name="attempt-begin"),
    path(ATTEMPT, views.attempt_show, name="attempt-show"),
    path(f"{ATTEMPT}pages/<int:page>/", views.attempt_draft, name="attempt-draft"),
    path(f"{ATTEMPT}feedback/<int:page>/", views.attempt_feedback, name="attempt-feedback"),
    path(f"{ATTEMPT}result/", views.attempt_result, name="attempt-result"),
]

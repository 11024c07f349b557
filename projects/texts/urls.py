"""Routes of instructions and consent."""

from django.urls import path

from projects.texts import views

urlpatterns = [
    path("p/<slug:slug>/instructions/edit/", views.instructions_edit, name="instructions-edit"),
    path("p/<slug:slug>/instructions/<int:version>/", views.instructions_show, name="instructions-version"),
    path("p/<slug:slug>/consent/edit/", views.consent_edit, name="consent-edit"),
    path("p/<slug:slug>/consent/<int:version>/", views.consent_show, name="consent-version"),
]

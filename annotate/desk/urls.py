"""Routes of an annotator's desk, consent, instructions, messages and earnings."""

from django.urls import path

from annotate.desk import onboarding_views, views
from annotate.desk import views as desk_views

urlpatterns = [
    path("", desk_views.home, name="home"),
    path("desk/", desk_views.desk, name="desk"),
    path("p/<slug:slug>/desk/", desk_views.project_desk, name="project-desk"),
    path("p/<slug:slug>/consent/", onboarding_views.consent, name="consent"),
    path("p/<slug:slug>/consent/withdraw/", onboarding_views.consent_withdraw, name="consent-withdraw"),
    path("p/<slug:slug>/instructions/", onboarding_views.instructions, name="instructions"),
    path(
        "p/<slug:slug>/instructions/<int:version>/read/", onboarding_views.instructions_read, name="instructions-read"
    ),
    path("p/<slug:slug>/history/", desk_views.history, name="history"),
    path("p/<slug:slug>/earned/", desk_views.earnings, name="earnings"),
    path("p/<slug:slug>/messages/<int:pk>/", views.notice_read, name="notice-read"),
]

"""Routes of an annotator's desk, consent, instructions, messages and earnings."""

from django.urls import path

from annotate.desk import account_views, onboarding_views, panel_views, survey_views, views

urlpatterns = [
    path("", views.home, name="home"),
    path("account/delete/", account_views.account_delete, name="account-delete"),
    path("desk/", views.desk, name="desk"),
    # Not under p/, where the first part is the address of a project.
    path("panel/<slug:token>/", panel_views.arrival, name="panel-arrival"),
    path("p/<slug:slug>/session/", panel_views.session_show, name="panel-session"),
    path("p/<slug:slug>/session/return/", panel_views.session_return, name="panel-return"),
    path("p/<slug:slug>/desk/", views.project_desk, name="project-desk"),
    path("p/<slug:slug>/consent/", onboarding_views.consent, name="consent"),
    path("p/<slug:slug>/consent/withdraw/", onboarding_views.consent_withdraw, name="consent-withdraw"),
    path("p/<slug:slug>/survey/<slug:moment>/", survey_views.survey, name="survey"),
    path("p/<slug:slug>/instructions/", onboarding_views.instructions, name="instructions"),
    path(
        "p/<slug:slug>/instructions/<int:version>/read/", onboarding_views.instructions_read, name="instructions-read"
    ),
    path("p/<slug:slug>/history/", views.history, name="history"),
    path("p/<slug:slug>/earned/", views.earnings, name="earnings"),
    path("p/<slug:slug>/messages/<int:pk>/", views.notice_read, name="notice-read"),
]

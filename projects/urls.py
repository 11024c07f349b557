"""The routes of accounts, projects and people."""

from django.urls import path

from projects.accounts import views as accounts_views
from projects.api import token_views
from projects.log import views
from projects.people import views as people_views
from projects.rubric import views as rubric_views
from projects.settings import views as settings_views
from projects.texts import views as texts_views

app_name = "projects"

urlpatterns = [
    path("sign-in/", accounts_views.sign_in, name="sign-in"),
    path("sign-out/", accounts_views.sign_out, name="sign-out"),
    path("accessibility/", accounts_views.accessibility, name="accessibility"),
    path("language/", accounts_views.language_choose, name="language"),
    path("account/", accounts_views.account, name="account"),
    path("account/password/", accounts_views.password_change, name="password-change"),
    path("reset/", accounts_views.password_forgotten, name="password-forgotten"),
    path("reset/<str:uidb64>/<str:token>/", accounts_views.password_reset, name="password-reset"),
    path("join/<str:token>/", people_views.join, name="join"),
    path("projects/new/", settings_views.project_new, name="project-new"),
    path("p/<slug:slug>/settings/", settings_views.project_settings, name="project-settings"),
    path("p/<slug:slug>/settings/edit/", settings_views.project_settings_edit, name="project-settings-edit"),
    path("p/<slug:slug>/settings/delete/", settings_views.project_delete, name="project-delete"),
    path("p/<slug:slug>/rubric/", rubric_views.rubric_show, name="rubric-show"),
    path("p/<slug:slug>/rubric/<int:version>/", rubric_views.rubric_show, name="rubric-version"),
    path("p/<slug:slug>/rubric/new/", rubric_views.rubric_new, name="rubric-new"),
    path("p/<slug:slug>/rubric/preset/", rubric_views.rubric_preset, name="rubric-preset"),
    path("p/<slug:slug>/instructions/edit/", texts_views.instructions_edit, name="instructions-edit"),
    path("p/<slug:slug>/instructions/<int:version>/", texts_views.instructions_show, name="instructions-version"),
    path("p/<slug:slug>/consent/edit/", texts_views.consent_edit, name="consent-edit"),
    path("p/<slug:slug>/consent/<int:version>/", texts_views.consent_show, name="consent-version"),
    path("p/<slug:slug>/people/", people_views.people_list, name="people-list"),
    path("p/<slug:slug>/people/invitations/", people_views.invitation_list, name="invitation-list"),
    path("p/<slug:slug>/people/invitations/new/", people_views.invitation_new, name="invitation-new"),
    path(
        "p/<slug:slug>/people/invitations/<int:invitation_id>/revoke/",
        people_views.invitation_revoke,
        name="invitation-revoke",
    ),
    path("p/<slug:slug>/people/<slug:pseudonym>/", people_views.member_show, name="member-show"),
    path("p/<slug:slug>/people/<slug:pseudonym>/role/", people_views.member_role, name="member-role"),
    path("p/<slug:slug>/people/<slug:pseudonym>/annotates/", people_views.member_annotates, name="member-annotates"),
    path("p/<slug:slug>/people/<slug:pseudonym>/reset-link/", people_views.member_reset_link, name="member-reset-link"),
    path("p/<slug:slug>/tokens/", token_views.token_list, name="token-list"),
    path("p/<slug:slug>/tokens/new/", token_views.token_new, name="token-new"),
    path("p/<slug:slug>/tokens/<int:token_id>/rotate/", token_views.token_rotate, name="token-rotate"),
    path("p/<slug:slug>/tokens/<int:token_id>/revoke/", token_views.token_revoke, name="token-revoke"),
    path("p/<slug:slug>/log/", views.log_list, name="log-list"),
]

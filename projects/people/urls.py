"""Routes of members and invitations."""

from django.urls import path

from projects.people import join_views, views

urlpatterns = [
    path("join/<str:token>/", join_views.join, name="join"),
    path("p/<slug:slug>/people/", views.people_list, name="people-list"),
    path("p/<slug:slug>/people/invitations/", views.invitation_list, name="invitation-list"),
    path("p/<slug:slug>/people/invitations/new/", views.invitation_new, name="invitation-new"),
    path(
        "p/<slug:slug>/people/invitations/<int:invitation_id>/revoke/",
        views.invitation_revoke,
        name="invitation-revoke",
    ),
    path("p/<slug:slug>/people/<slug:pseudonym>/", views.member_show, name="member-show"),
    path("p/<slug:slug>/people/<slug:pseudonym>/role/", views.member_role, name="member-role"),
    path("p/<slug:slug>/people/<slug:pseudonym>/annotates/", views.member_annotates, name="member-annotates"),
    path("p/<slug:slug>/people/<slug:pseudonym>/reset-link/", views.member_reset_link, name="member-reset-link"),
]

"""Routes of the API of people and invitations."""

from django.urls import path

from projects.people import api

urlpatterns = [
    path("projects/<slug:slug>/people/", api.PeopleList.as_view(), name="people-list"),
    path("projects/<slug:slug>/people/<slug:pseudonym>/", api.PersonShow.as_view(), name="person-show"),
    path("projects/<slug:slug>/invitations/", api.InvitationList.as_view(), name="invitation-list"),
    path(
        "projects/<slug:slug>/invitations/<int:invitation_id>/revoke/",
        api.InvitationRevoke.as_view(),
        name="invitation-revoke",
    ),
]

"""Routes of acts on members and on submitted work."""

from django.urls import path

from annotate.moderation import member_views, work_views

MEMBER = "p/<slug:slug>/people/<slug:pseudonym>/"
ASSIGNMENT = "p/<slug:slug>/submitted/<uuid:assignment_uuid>/"

urlpatterns = [
    path(f"{MEMBER}warn/", member_views.member_warn, name="member-warn"),
    path(f"{MEMBER}suspend/", member_views.member_suspend, name="member-suspend"),
    path(f"{MEMBER}remove/", member_views.member_remove, name="member-remove"),
    path(f"{MEMBER}restore/", member_views.member_restore, name="member-restore"),
    path("p/<slug:slug>/submitted/", work_views.submitted_list, name="submitted-list"),
    path("p/<slug:slug>/submitted/decide/", work_views.submitted_decide, name="submitted-decide"),
    path(ASSIGNMENT, work_views.assignment_show, name="assignment-show"),
    path(f"{ASSIGNMENT}decide/", work_views.assignment_decide, name="assignment-decide"),
    path(f"{ASSIGNMENT}items/<int:place>/", work_views.assignment_item, name="assignment-item"),
]

"""The routes of acting: on people, on submitted work, on the data, and where annotators differ."""

from django.urls import path

from annotate.data import withdrawal_views
from annotate.desk import views
from annotate.moderation import member_views, work_views
from annotate.reviews import adjudication_views
from annotate.work import revision_views

MEMBER = "p/<slug:slug>/people/<slug:pseudonym>/"
HISTORY = "p/<slug:slug>/history/<uuid:assignment_uuid>/"
ASSIGNMENT = "p/<slug:slug>/submitted/<uuid:assignment_uuid>/"

urlpatterns = [
    path(f"{MEMBER}warn/", member_views.member_warn, name="member-warn"),
    path(f"{MEMBER}suspend/", member_views.member_suspend, name="member-suspend"),
    path(f"{MEMBER}remove/", member_views.member_remove, name="member-remove"),
    path(f"{MEMBER}restore/", member_views.member_restore, name="member-restore"),
    path("p/<slug:slug>/messages/<int:pk>/", views.notice_read, name="notice-read"),
    path(HISTORY, revision_views.history_show, name="history-show"),
    path(f"{HISTORY}revision/", revision_views.revision, name="revision"),
    path(f"{HISTORY}revision/draft/", revision_views.revision_draft, name="revision-draft"),
    path(f"{HISTORY}reply/", revision_views.history_reply, name="history-reply"),
    path("p/<slug:slug>/submitted/", work_views.submitted_list, name="submitted-list"),
    path("p/<slug:slug>/submitted/decide/", work_views.submitted_decide, name="submitted-decide"),
    path(ASSIGNMENT, work_views.assignment_show, name="assignment-show"),
    path(f"{ASSIGNMENT}decide/", work_views.assignment_decide, name="assignment-decide"),
    path(
        "p/<slug:slug>/data/candidates/<int:pk>/withdraw/",
        withdrawal_views.candidate_withdraw,
        name="candidate-withdraw",
    ),
    path("p/<slug:slug>/data/passages/<int:pk>/withdraw/", withdrawal_views.passage_withdraw, name="passage-withdraw"),
    path(f"{ASSIGNMENT}items/<int:place>/", work_views.assignment_item, name="assignment-item"),
    path("p/<slug:slug>/adjudication/", adjudication_views.adjudication_list, name="adjudication-list"),
    path("p/<slug:slug>/adjudication/rule/", adjudication_views.adjudication_rule, name="adjudication-rule"),
    path("p/<slug:slug>/adjudication/<int:pk>/", adjudication_views.adjudication_settle, name="adjudication-settle"),
]

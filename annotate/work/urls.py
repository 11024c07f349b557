"""Routes of taking, rating, revising and reading HITs."""

from django.urls import path

from annotate.work import revision_views, views

HISTORY = "p/<slug:slug>/history/<uuid:assignment_uuid>/"

urlpatterns = [
    path("session/", views.session, name="session"),
    path("p/<slug:slug>/work/", views.work_start, name="work-start"),
    path("p/<slug:slug>/work/<uuid:assignment_uuid>/", views.work_show, name="work-show"),
    path("p/<slug:slug>/work/<uuid:assignment_uuid>/draft/", views.work_draft, name="work-draft"),
    path("p/<slug:slug>/work/<uuid:assignment_uuid>/return/", views.work_return, name="work-return"),
    path("p/<slug:slug>/work/<uuid:assignment_uuid>/reopen/", views.work_reopen, name="work-reopen"),
    path("p/<slug:slug>/work/<uuid:assignment_uuid>/extend/", views.work_extend, name="work-extend"),
    path(HISTORY, revision_views.history_show, name="history-show"),
    path(f"{HISTORY}revision/", revision_views.revision, name="revision"),
    path(f"{HISTORY}revision/draft/", revision_views.revision_draft, name="revision-draft"),
    path(f"{HISTORY}reply/", revision_views.history_reply, name="history-reply"),
]

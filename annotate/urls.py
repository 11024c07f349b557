"""The routes of judging."""

from django.urls import path

from annotate.views import desk, work

app_name = "annotate"

urlpatterns = [
    path("", desk.home, name="home"),
    path("desk/", desk.desk, name="desk"),
    path("session/", work.session, name="session"),
    path("p/<slug:slug>/desk/", desk.project_desk, name="project-desk"),
    path("p/<slug:slug>/instructions/", desk.instructions, name="instructions"),
    path("p/<slug:slug>/history/", desk.history, name="history"),
    path("p/<slug:slug>/work/", work.work_start, name="work-start"),
    path("p/<slug:slug>/work/<uuid:assignment_uuid>/", work.work_show, name="work-show"),
    path("p/<slug:slug>/work/<uuid:assignment_uuid>/draft/", work.work_draft, name="work-draft"),
    path("p/<slug:slug>/work/<uuid:assignment_uuid>/return/", work.work_return, name="work-return"),
    path("p/<slug:slug>/work/<uuid:assignment_uuid>/reopen/", work.work_reopen, name="work-reopen"),
    path("p/<slug:slug>/work/<uuid:assignment_uuid>/extend/", work.work_extend, name="work-extend"),
]

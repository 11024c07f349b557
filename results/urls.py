"""The routes of what came of the judging."""

from django.urls import path

from results.agreement import planner_views
from results.agreement import views as agreement_views
from results.disagreements import views as disagreements_views
from results.exports import views as exports_views
from results.exports.formats import FORMATS
from results.metrics import run_views
from results.metrics import views as metrics_views
from results.overview import batch_views
from results.overview import views as overview_views
from results.reports import views
from results.score_import import views as score_import_views
from results.scores import views as scores_views
from results.sets import views as sets_views
from results.studies import views as studies_views
from results.systems import views as systems_views

app_name = "results"

AGREEMENT = {
    "agreement": ("agreement", ""),
    "annotators": ("agreement-annotators", "annotators/"),
    "time": ("agreement-time", "time/"),
}
"""The pages of agreement by their figures: the name of the route, and the folder."""

urlpatterns = [
    path("p/<slug:slug>/", overview_views.project_overview, name="project-overview"),
    path("p/<slug:slug>/charts/<slug:name>.<str:form>", overview_views.overview_chart, name="project-overview-chart"),
    *(
        path(f"p/<slug:slug>/agreement/{folder}", agreement_views.agreement, {"kind": kind}, name=name)
        for kind, (name, folder) in AGREEMENT.items()
    ),
    *(
        path(
            f"p/<slug:slug>/agreement/{folder}charts/<slug:name>.<str:form>",
            agreement_views.agreement_chart,
            {"kind": kind},
            name=f"{name}-chart",
        )
        for kind, (name, folder) in AGREEMENT.items()
    ),
    path("p/<slug:slug>/scores/", scores_views.gold_scores, name="scores"),
    path("p/<slug:slug>/scores/charts/<slug:name>.<str:form>", scores_views.gold_chart, name="scores-chart"),
    path("p/<slug:slug>/scores/rule/", scores_views.gold_rule, name="gold-rule"),
    path("p/<slug:slug>/scores/systems/", systems_views.systems, name="systems"),
    path(
        "p/<slug:slug>/scores/systems/charts/<slug:name>.<str:form>", systems_views.systems_chart, name="systems-chart"
    ),
    path("p/<slug:slug>/scores/replication/", systems_views.replication, name="replication"),
    path(
        "p/<slug:slug>/scores/replication/charts/<slug:name>.<str:form>",
        systems_views.replication_chart,
        name="replication-chart",
    ),
    path("p/<slug:slug>/scores/disagreements/", disagreements_views.disagreements, name="disagreements"),
    path("p/<slug:slug>/scores/items/<int:pk>/", disagreements_views.item, name="item"),
    path("p/<slug:slug>/scores/planner/", planner_views.planner, name="planner"),
    path(
        "p/<slug:slug>/scores/planner/charts/<slug:name>.<str:form>", planner_views.planner_chart, name="planner-chart"
    ),
    path("p/<slug:slug>/metrics/", metrics_views.metric_list, name="metric-list"),
    path("p/<slug:slug>/metrics/new/", metrics_views.metric_new, name="metric-new"),
    path("p/<slug:slug>/metrics/jobs/", metrics_views.metric_jobs, name="metric-jobs"),
    path("p/<slug:slug>/metrics/cancel/", metrics_views.metric_cancel_all, name="metric-cancel-all"),
    path("p/<slug:slug>/metrics/<int:pk>/", run_views.metric_show, name="metric-show"),
    path("p/<slug:slug>/metrics/<int:pk>/job/", run_views.metric_job, name="metric-job"),
    path("p/<slug:slug>/metrics/<int:pk>/cancel/", run_views.metric_cancel, name="metric-cancel"),
    path("p/<slug:slug>/metrics/<int:pk>/again/", run_views.metric_again, name="metric-again"),
    path("p/<slug:slug>/metrics/<int:pk>/delete/", run_views.metric_delete, name="metric-delete"),
    path("p/<slug:slug>/metrics/<int:pk>/scores.<str:form>", run_views.metric_scores, name="metric-scores"),
    path("p/<slug:slug>/metrics/<int:pk>/charts/<slug:name>.<str:form>", run_views.metric_chart, name="metric-chart"),
    path("p/<slug:slug>/metrics/files/new/", score_import_views.score_file_new, name="score-file-new"),
    path("p/<slug:slug>/metrics/files/<int:number>/", score_import_views.score_file, name="score-file"),
    path("p/<slug:slug>/metrics/files/<int:number>/job/", score_import_views.score_file_job, name="score-file-job"),
    path("p/<slug:slug>/metrics/files/<int:number>/take/", score_import_views.score_file_take, name="score-file-take"),
    path(
        "p/<slug:slug>/metrics/files/<int:number>/cancel/",
        score_import_views.score_file_cancel,
        name="score-file-cancel",
    ),
    path(
        "p/<slug:slug>/metrics/files/<int:number>/problems.csv",
        score_import_views.score_file_problems,
        name="score-file-problems",
    ),
    path("p/<slug:slug>/reports/<int:pk>/job/", views.report_job, name="report-job"),
    path("p/<slug:slug>/reports/<int:pk>/cancel/", views.report_cancel, name="report-cancel"),
    path("p/<slug:slug>/batches/<int:number>/results/", batch_views.batch_results, name="batch-results"),
    path("p/<slug:slug>/sets/", sets_views.set_list, name="set-list"),
    path("p/<slug:slug>/sets/new/", sets_views.set_new, name="set-new"),
    path("p/<slug:slug>/sets/<int:number>/", sets_views.set_show, name="set-show"),
    path("p/<slug:slug>/sets/<int:number>/job/", sets_views.set_job, name="set-job"),
    path("p/<slug:slug>/sets/<int:number>/cancel/", sets_views.set_cancel, name="set-cancel"),
    path("p/<slug:slug>/sets/<int:number>/again/", sets_views.set_again, name="set-again"),
    path("p/<slug:slug>/sets/<int:number>/retire/", sets_views.set_retire, name="set-retire"),
    path("p/<slug:slug>/sets/<int:number>/succeed/", sets_views.set_succeed, name="set-succeed"),
    path("p/<slug:slug>/sets/<int:number>/archive/", sets_views.set_archive, name="set-archive"),
    path("p/<slug:slug>/sets/<int:number>/files/<str:name>", sets_views.set_file, name="set-file"),
    path("p/<slug:slug>/studies/", studies_views.study_list, name="study-list"),
    path("p/<slug:slug>/studies/new/", studies_views.study_new, name="study-new"),
    path("p/<slug:slug>/studies/compare/", studies_views.study_compare, name="study-compare"),
    path("p/<slug:slug>/studies/<int:number>/", studies_views.study_show, name="study-show"),
    path("p/<slug:slug>/studies/<int:number>/job/", studies_views.study_job, name="study-job"),
    path("p/<slug:slug>/studies/<int:number>/cancel/", studies_views.study_cancel, name="study-cancel"),
    path("p/<slug:slug>/studies/<int:number>/again/", studies_views.study_again, name="study-again"),
    path("p/<slug:slug>/studies/<int:number>/delete/", studies_views.study_delete, name="study-delete"),
    path("p/<slug:slug>/studies/<int:number>/causes/", studies_views.study_cause, name="study-cause"),
    path(
        "p/<slug:slug>/studies/<int:number>/charts/<slug:name>.<str:form>",
        studies_views.study_chart,
        name="study-chart",
    ),
    path(
        "p/<slug:slug>/studies/<int:number>/tables/<slug:name>.<str:form>",
        studies_views.study_table,
        name="study-table",
    ),
    path("p/<slug:slug>/export/", exports_views.export_list, name="export-list"),
    *(
        path(f"p/<slug:slug>/export/{name}", exports_views.export_download, {"form": form}, name=f"export-{form}")
        for form, name in FORMATS.items()
    ),
]

"""The routes of what came of the judging."""

from django.urls import path

from results.exporting import FORMATS
from results.views import agreement, batches, exports, overview, standing

app_name = "results"

AGREEMENT = {
    "agreement": ("agreement", ""),
    "annotators": ("agreement-annotators", "annotators/"),
    "time": ("agreement-time", "time/"),
}
"""The pages of agreement by their figures: the name of the route, and the folder."""

urlpatterns = [
    path("p/<slug:slug>/", overview.project_overview, name="project-overview"),
    *(
        path(f"p/<slug:slug>/agreement/{folder}", agreement.agreement, {"kind": kind}, name=name)
        for kind, (name, folder) in AGREEMENT.items()
    ),
    *(
        path(
            f"p/<slug:slug>/agreement/{folder}charts/<slug:name>.<str:form>",
            agreement.agreement_chart,
            {"kind": kind},
            name=f"{name}-chart",
        )
        for kind, (name, folder) in AGREEMENT.items()
    ),
    path("p/<slug:slug>/reports/<int:pk>/job/", standing.report_job, name="report-job"),
    path("p/<slug:slug>/reports/<int:pk>/cancel/", standing.report_cancel, name="report-cancel"),
    path("p/<slug:slug>/batches/<int:number>/results/", batches.batch_results, name="batch-results"),
    path("p/<slug:slug>/export/", exports.export_list, name="export-list"),
    *(
        path(f"p/<slug:slug>/export/{name}", exports.export_download, {"form": form}, name=f"export-{form}")
        for form, name in FORMATS.items()
    ),
]

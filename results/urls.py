"""The routes of what came of the judging."""

from django.urls import path

from results.exporting import FORMATS
from results.views import agreement, batches, exports, overview

app_name = "results"

urlpatterns = [
    path("p/<slug:slug>/", overview.project_overview, name="project-overview"),
    path("p/<slug:slug>/agreement/", agreement.agreement, name="agreement"),
    path("p/<slug:slug>/batches/<int:number>/results/", batches.batch_results, name="batch-results"),
    path("p/<slug:slug>/export/", exports.export_list, name="export-list"),
    *(
        path(f"p/<slug:slug>/export/{name}", exports.export_download, {"form": form}, name=f"export-{form}")
        for form, name in FORMATS.items()
    ),
]

"""Routes of the overview and of a batch's results."""

from django.urls import path

from results.overview import batch_views, views

urlpatterns = [
    path("p/<slug:slug>/", views.project_overview, name="project-overview"),
    path("p/<slug:slug>/charts/<slug:name>.<str:form>", views.overview_chart, name="project-overview-chart"),
    path("p/<slug:slug>/batches/<int:number>/results/", batch_views.batch_results, name="batch-results"),
    path(
        "p/<slug:slug>/batches/<int:number>/results/tables/<slug:name>.<str:form>",
        batch_views.batch_table,
        name="batch-results-table",
    ),
]

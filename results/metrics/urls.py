"""Routes of runs of metrics."""

from django.urls import path

from results.metrics import run_views, views

urlpatterns = [
    path("p/<slug:slug>/metrics/", views.metric_list, name="metric-list"),
    path("p/<slug:slug>/metrics/tables/<slug:name>.<str:form>", views.metric_list_table, name="metric-list-table"),
    path("p/<slug:slug>/metrics/new/", views.metric_new, name="metric-new"),
    path("p/<slug:slug>/metrics/jobs/", views.metric_jobs, name="metric-jobs"),
    path("p/<slug:slug>/metrics/cancel/", views.metric_cancel_all, name="metric-cancel-all"),
    path("p/<slug:slug>/metrics/<int:pk>/", run_views.metric_show, name="metric-show"),
    path("p/<slug:slug>/metrics/<int:pk>/job/", run_views.metric_job, name="metric-job"),
    path("p/<slug:slug>/metrics/<int:pk>/cancel/", run_views.metric_cancel, name="metric-cancel"),
    path("p/<slug:slug>/metrics/<int:pk>/again/", run_views.metric_again, name="metric-again"),
    path("p/<slug:slug>/metrics/<int:pk>/delete/", run_views.metric_delete, name="metric-delete"),
    path("p/<slug:slug>/metrics/<int:pk>/scores.<str:form>", run_views.metric_scores, name="metric-scores"),
    path("p/<slug:slug>/metrics/<int:pk>/charts/<slug:name>.<str:form>", run_views.metric_chart, name="metric-chart"),
    path("p/<slug:slug>/metrics/<int:pk>/tables/<slug:name>.<str:form>", run_views.metric_table, name="metric-table"),
]

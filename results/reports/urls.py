"""Routes of reports."""

from django.urls import path

from results.reports import views

urlpatterns = [
    path("p/<slug:slug>/reports/<int:pk>/job/", views.report_job, name="report-job"),
    path("p/<slug:slug>/reports/<int:pk>/cancel/", views.report_cancel, name="report-cancel"),
]

"""Routes of the audit log."""

from django.urls import path

from projects.log import views

urlpatterns = [
    path("p/<slug:slug>/log/", views.log_list, name="log-list"),
]

"""Routes of creating a project, its settings and deleting it."""

from django.urls import path

from projects.settings import views

urlpatterns = [
    path("projects/new/", views.project_new, name="project-new"),
    path("p/<slug:slug>/settings/", views.project_settings, name="project-settings"),
    path("p/<slug:slug>/settings/edit/", views.project_settings_edit, name="project-settings-edit"),
    path("p/<slug:slug>/settings/delete/", views.project_delete, name="project-delete"),
]

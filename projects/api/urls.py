"""The routes of the API that belong to projects, and those that describe it."""

from django.urls import path

from projects.api import describing, views

urlpatterns = [
    path("", describing.docs, name="docs"),
    path("schema/", describing.schema, name="schema"),
    path("projects/", views.ProjectList.as_view(), name="project-list"),
    path("projects/<slug:slug>/", views.ProjectShow.as_view(), name="project-show"),
]

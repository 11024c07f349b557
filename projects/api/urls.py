"""API routes of projects, and of the API's own description."""

from django.urls import path

from projects.api import openapi, views

urlpatterns = [
    path("", openapi.docs, name="docs"),
    path("schema/", openapi.schema, name="schema"),
    path("projects/", views.ProjectList.as_view(), name="project-list"),
    path("projects/<slug:slug>/", views.ProjectShow.as_view(), name="project-show"),
]

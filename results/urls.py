"""The routes of what came of the judging."""

from django.urls import URLPattern

app_name = "results"

urlpatterns: list[URLPattern] = []

"""The routes of the site."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("projects.urls")),
    path("", include("annotate.urls")),
    path("", include("results.urls")),
    path("admin/", admin.site.urls),
]

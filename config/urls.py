"""The routes of the site."""

from django.contrib import admin
from django.urls import include, path

from annotate.api_urls import urlpatterns as of_judging
from projects.api.urls import urlpatterns as of_projects
from results.api_urls import urlpatterns as of_results

api = [*of_projects, *of_judging, *of_results]

urlpatterns = [
    path("api/v1/", include((api, "api"))),
    path("", include("projects.urls")),
    path("", include("annotate.urls")),
    path("", include("results.urls")),
    path("admin/", admin.site.urls),
]

handler400 = "projects.web.error_pages.bad_request"
handler404 = "projects.web.error_pages.not_found"
handler500 = "projects.web.error_pages.server_error"

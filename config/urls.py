"""The routes of the site."""

from django.contrib import admin
from django.urls import include, path

from annotate.api_urls import urlpatterns as annotate_api
from config.sorted_routes import sorted_path
from projects.api.urls import urlpatterns as projects_api
from projects.people.api_urls import urlpatterns as people_api
from results.api_urls import urlpatterns as results_api

# One list, because the routes of all apps share the namespace `api`.
api = [*projects_api, *people_api, *annotate_api, *results_api]

urlpatterns = [
    sorted_path("api/v1/", include((api, "api"))),
    sorted_path("", include("annotate.urls")),
    sorted_path("", include("projects.urls")),
    sorted_path("", include("results.urls")),
    path("admin/", admin.site.urls),
]

handler400 = "projects.web.error_pages.bad_request"
handler403 = "projects.web.error_pages.permission_denied"
handler404 = "projects.web.error_pages.not_found"
handler500 = "projects.web.error_pages.server_error"

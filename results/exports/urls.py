"""Routes of exports."""

from django.urls import path

from results.exports import views
from results.exports.formats import CONTROLS, FILES, FORMATS

urlpatterns = [
    path("p/<slug:slug>/export/", views.export_list, name="export-list"),
    *(
        path(f"p/<slug:slug>/export/{name}", views.export_download, {"form": form}, name=f"export-{form}")
        for form, name in FORMATS.items()
    ),
    path(f"p/<slug:slug>/export/{FILES[CONTROLS]}", views.export_controls, name="export-controls"),
]

"""Routes of imports."""

from django.urls import path

from annotate.imports import views

urlpatterns = [
    path("p/<slug:slug>/data/imports/", views.import_list, name="import-list"),
    path("p/<slug:slug>/data/imports/new/", views.import_new, name="import-new"),
    path("p/<slug:slug>/data/imports/<int:number>/", views.import_show, name="import-show"),
    path("p/<slug:slug>/data/imports/<int:number>/check/", views.import_check, name="import-check"),
    path("p/<slug:slug>/data/imports/<int:number>/reopen/", views.import_reopen, name="import-reopen"),
    path("p/<slug:slug>/data/imports/<int:number>/replace/", views.import_replace, name="import-replace"),
    path("p/<slug:slug>/data/imports/<int:number>/skipped/", views.import_skipped, name="import-skipped"),
    path("p/<slug:slug>/data/imports/<int:number>/write/", views.import_write, name="import-write"),
    path("p/<slug:slug>/data/imports/<int:number>/cancel/", views.import_cancel, name="import-cancel"),
    path("p/<slug:slug>/data/imports/<int:number>/job/", views.import_job, name="import-job"),
    path("p/<slug:slug>/data/imports/<int:number>/file/", views.import_file, name="import-file"),
]

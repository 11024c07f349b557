"""Routes of files of scores."""

from django.urls import path

from results.score_import import views

urlpatterns = [
    path("p/<slug:slug>/metrics/files/new/", views.score_file_new, name="score-file-new"),
    path("p/<slug:slug>/metrics/files/<int:number>/", views.score_file, name="score-file"),
    path("p/<slug:slug>/metrics/files/<int:number>/job/", views.score_file_job, name="score-file-job"),
    path("p/<slug:slug>/metrics/files/<int:number>/take/", views.score_file_take, name="score-file-take"),
    path("p/<slug:slug>/metrics/files/<int:number>/check/", views.score_file_check, name="score-file-check"),
    path("p/<slug:slug>/metrics/files/<int:number>/replace/", views.score_file_replace, name="score-file-replace"),
    path(
        "p/<slug:slug>/metrics/files/<int:number>/cancel/",
        views.score_file_cancel,
        name="score-file-cancel",
    ),
    path(
        "p/<slug:slug>/metrics/files/<int:number>/problems.csv",
        views.score_file_problems,
        name="score-file-problems",
    ),
]

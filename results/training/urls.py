"""Routes of trained metrics."""

from django.urls import path

from results.training import views

urlpatterns = [
    path("p/<slug:slug>/trainings/", views.training_list, name="training-list"),
    path("p/<slug:slug>/trainings/new/", views.training_new, name="training-new"),
    path("p/<slug:slug>/trainings/<int:number>/", views.training_show, name="training-show"),
    path("p/<slug:slug>/trainings/<int:number>/job/", views.training_job, name="training-job"),
    path("p/<slug:slug>/trainings/<int:number>/start/", views.training_start, name="training-start"),
    path("p/<slug:slug>/trainings/<int:number>/again/", views.training_again, name="training-again"),
    path("p/<slug:slug>/trainings/<int:number>/cancel/", views.training_cancel, name="training-cancel"),
    path("p/<slug:slug>/trainings/<int:number>/delete/", views.training_delete, name="training-delete"),
    path(
        "p/<slug:slug>/trainings/<int:number>/tables/<slug:name>.<str:form>",
        views.training_table,
        name="training-table",
    ),
    path(
        "p/<slug:slug>/trainings/<int:number>/charts/<slug:name>.<str:form>",
        views.training_chart,
        name="training-chart",
    ),
]

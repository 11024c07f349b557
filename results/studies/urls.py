"""Routes of metric evaluations."""

from django.urls import path

from results.studies import views

urlpatterns = [
    path("p/<slug:slug>/studies/", views.study_list, name="study-list"),
    path("p/<slug:slug>/studies/new/", views.study_new, name="study-new"),
    path("p/<slug:slug>/studies/compare/", views.study_compare, name="study-compare"),
    path(
        "p/<slug:slug>/studies/compare/tables/<slug:name>.<str:form>",
        views.study_compare_table,
        name="study-compare-table",
    ),
    path("p/<slug:slug>/studies/<int:number>/", views.study_show, name="study-show"),
    path("p/<slug:slug>/studies/<int:number>/job/", views.study_job, name="study-job"),
    path("p/<slug:slug>/studies/<int:number>/cancel/", views.study_cancel, name="study-cancel"),
    path("p/<slug:slug>/studies/<int:number>/again/", views.study_again, name="study-again"),
    path("p/<slug:slug>/studies/<int:number>/delete/", views.study_delete, name="study-delete"),
    path("p/<slug:slug>/studies/<int:number>/causes/", views.study_cause, name="study-cause"),
    path(
        "p/<slug:slug>/studies/<int:number>/charts/<slug:name>.<str:form>",
        views.study_chart,
        name="study-chart",
    ),
    path(
        "p/<slug:slug>/studies/<int:number>/tables/<slug:name>.<str:form>",
        views.study_table,
        name="study-table",
    ),
]

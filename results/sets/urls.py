"""Routes of judgment sets."""

from django.urls import path

from results.sets import views

urlpatterns = [
    path("p/<slug:slug>/sets/", views.set_list, name="set-list"),
    path("p/<slug:slug>/sets/new/", views.set_new, name="set-new"),
    path("p/<slug:slug>/sets/<int:number>/", views.set_show, name="set-show"),
    path("p/<slug:slug>/sets/<int:number>/job/", views.set_job, name="set-job"),
    path("p/<slug:slug>/sets/<int:number>/cancel/", views.set_cancel, name="set-cancel"),
    path("p/<slug:slug>/sets/<int:number>/again/", views.set_again, name="set-again"),
    path("p/<slug:slug>/sets/<int:number>/retire/", views.set_retire, name="set-retire"),
    path("p/<slug:slug>/sets/<int:number>/doi/", views.set_doi, name="set-doi"),
    path("p/<slug:slug>/sets/<int:number>/succeed/", views.set_succeed, name="set-succeed"),
    path("p/<slug:slug>/sets/<int:number>/archive/", views.set_archive, name="set-archive"),
    path("p/<slug:slug>/sets/<int:number>/files/<str:name>", views.set_file, name="set-file"),
    path("p/<slug:slug>/sets/<int:number>/tables/<slug:name>.<str:form>", views.set_table, name="set-table"),
]

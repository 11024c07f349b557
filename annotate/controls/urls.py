"""Routes of a batch's controls."""

from django.urls import path

from annotate.controls import views

urlpatterns = [
    path("p/<slug:slug>/batches/<int:number>/controls/", views.control_list, name="batch-controls"),
    path("p/<slug:slug>/batches/<int:number>/controls/plan/", views.control_plan, name="control-plan"),
    path("p/<slug:slug>/batches/<int:number>/controls/act/", views.control_act, name="control-act"),
    path("p/<slug:slug>/batches/<int:number>/controls/job/", views.controls_job, name="controls-job"),
    path("p/<slug:slug>/batches/<int:number>/controls/cancel/", views.controls_cancel, name="controls-cancel"),
]

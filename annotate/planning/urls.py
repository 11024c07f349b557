"""Routes of overlap plans."""

from django.urls import path

from annotate.planning import views

urlpatterns = [
    path("p/<slug:slug>/plans/", views.plan_list, name="plan-list"),
    path("p/<slug:slug>/plans/new/", views.plan_new, name="plan-new"),
    path("p/<slug:slug>/plans/<int:plan_number>/", views.plan_show, name="plan-show"),
    path("p/<slug:slug>/plans/<int:plan_number>/edit/", views.plan_edit, name="plan-edit"),
    path("p/<slug:slug>/plans/<int:plan_number>/start/", views.plan_start, name="plan-start"),
]

"""Routes of rubrics."""

from django.urls import path

from projects.rubric import views

urlpatterns = [
    path("p/<slug:slug>/rubric/", views.rubric_show, name="rubric-show"),
    path("p/<slug:slug>/rubric/<int:version>/", views.rubric_show, name="rubric-version"),
    path("p/<slug:slug>/rubric/new/", views.rubric_new, name="rubric-new"),
    path("p/<slug:slug>/rubric/preset/", views.rubric_preset, name="rubric-preset"),
]

"""Routes of the guides."""

from django.urls import path

from projects.guides import views

urlpatterns = [
    path("help/annotators/", views.annotators_guide, name="guide-annotators"),
    path("help/<slug:name>/", views.guide, name="guide"),
]

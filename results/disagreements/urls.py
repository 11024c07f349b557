"""Routes of disagreements and single items."""

from django.urls import path

from results.disagreements import views

urlpatterns = [
    path("p/<slug:slug>/scores/disagreements/", views.disagreements, name="disagreements"),
    path(
        "p/<slug:slug>/scores/disagreements/tables/<slug:name>.<str:form>",
        views.disagreements_table,
        name="disagreements-table",
    ),
    path("p/<slug:slug>/scores/items/<int:pk>/", views.item, name="item"),
]

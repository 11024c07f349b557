"""Routes of gold scores."""

from django.urls import path

from results.scores import views

urlpatterns = [
    path("p/<slug:slug>/scores/", views.gold_scores, name="scores"),
    path("p/<slug:slug>/scores/charts/<slug:name>.<str:form>", views.gold_chart, name="scores-chart"),
    path("p/<slug:slug>/scores/tables/<slug:name>.<str:form>", views.gold_table, name="scores-table"),
    path("p/<slug:slug>/scores/rule/", views.gold_rule, name="gold-rule"),
]

"""Routes of the leaderboard."""

from django.urls import path

from results.leaderboard import views

urlpatterns = [
    path("p/<slug:slug>/leaderboard/", views.leaderboard, name="leaderboard"),
    path("p/<slug:slug>/leaderboard/charts/<slug:name>.<str:form>", views.leaderboard_chart, name="leaderboard-chart"),
    path("p/<slug:slug>/leaderboard/tables/<slug:name>.<str:form>", views.leaderboard_table, name="leaderboard-table"),
]

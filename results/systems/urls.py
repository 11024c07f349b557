"""Routes of systems and replication."""

from django.urls import path

from results.systems import views

urlpatterns = [
    path("p/<slug:slug>/scores/systems/human-sources/", views.human_sources, name="human-sources"),
    path("p/<slug:slug>/scores/systems/", views.systems, name="systems"),
    path("p/<slug:slug>/scores/systems/charts/<slug:name>.<str:form>", views.systems_chart, name="systems-chart"),
    path("p/<slug:slug>/scores/systems/tables/<slug:name>.<str:form>", views.systems_table, name="systems-table"),
    path("p/<slug:slug>/scores/replication/", views.replication, name="replication"),
    path(
        "p/<slug:slug>/scores/replication/charts/<slug:name>.<str:form>",
        views.replication_chart,
        name="replication-chart",
    ),
    path(
        "p/<slug:slug>/scores/replication/tables/<slug:name>.<str:form>",
        views.replication_table,
        name="replication-table",
    ),
]

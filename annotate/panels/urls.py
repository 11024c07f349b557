"""Routes of the managers' pages of panels. The participants' own are in `annotate.desk`."""

from django.urls import path

from annotate.panels import views

PANEL = "p/<slug:slug>/panels/<int:number>/"

urlpatterns = [
    path("p/<slug:slug>/panels/", views.panel_list, name="panel-list"),
    path("p/<slug:slug>/panels/new/", views.panel_new, name="panel-new"),
    path(PANEL, views.panel_show, name="panel-show"),
    path(f"{PANEL}edit/", views.panel_edit, name="panel-edit"),
    path(f"{PANEL}end/", views.panel_end, name="panel-end"),
    path(f"{PANEL}test/", views.panel_test, name="panel-test"),
    path(f"{PANEL}sessions/<int:session_id>/", views.panel_session_act, name="panel-session-act"),
]

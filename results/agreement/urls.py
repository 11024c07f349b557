"""Routes of agreement and the planner."""

from django.urls import path

from results.agreement import planner_views, views

# The planner keeps the address below scores/ that it had before it moved to this room.
AGREEMENT = {
    "agreement": ("agreement", ""),
    "annotators": ("agreement-annotators", "annotators/"),
    "time": ("agreement-time", "time/"),
}

urlpatterns = [
    *(
        path(f"p/<slug:slug>/agreement/{folder}", views.agreement, {"kind": kind}, name=name)
        for kind, (name, folder) in AGREEMENT.items()
    ),
    *(
        path(
            f"p/<slug:slug>/agreement/{folder}charts/<slug:name>.<str:form>",
            views.agreement_chart,
            {"kind": kind},
            name=f"{name}-chart",
        )
        for kind, (name, folder) in AGREEMENT.items()
    ),
    *(
        path(
            f"p/<slug:slug>/agreement/{folder}tables/<slug:name>.<str:form>",
            views.agreement_table,
            {"kind": kind},
            name=f"{name}-table",
        )
        for kind, (name, folder) in AGREEMENT.items()
    ),
    path("p/<slug:slug>/scores/planner/", planner_views.planner, name="planner"),
    path(
        "p/<slug:slug>/scores/planner/charts/<slug:name>.<str:form>", planner_views.planner_chart, name="planner-chart"
    ),
    path(
        "p/<slug:slug>/scores/planner/tables/<slug:name>.<str:form>", planner_views.planner_table, name="planner-table"
    ),
]

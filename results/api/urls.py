"""The routes of the API of results."""

from django.urls import path

from results.agreement import api
from results.api import sets
from results.metrics import api as metrics_api
from results.studies import api as studies_api
from results.systems import api as systems_api

urlpatterns = [
    path("projects/<slug:slug>/agreement/", api.Agreement.as_view(), name="agreement"),
    path("projects/<slug:slug>/scores/", systems_api.Scores.as_view(), name="scores"),
    path("projects/<slug:slug>/metrics/", metrics_api.MetricList.as_view(), name="metric-list"),
    path("projects/<slug:slug>/metrics/<int:pk>/", metrics_api.MetricShow.as_view(), name="metric-show"),
    path(
        "projects/<slug:slug>/metrics/<int:pk>/scores.<str:form>",
        metrics_api.MetricScores.as_view(),
        name="metric-scores",
    ),
    path("projects/<slug:slug>/studies/", studies_api.StudyList.as_view(), name="study-list"),
    path("projects/<slug:slug>/studies/<int:number>/", studies_api.StudyShow.as_view(), name="study-show"),
    path("projects/<slug:slug>/judgment-sets/", sets.SetList.as_view(), name="set-list"),
    path("projects/<slug:slug>/judgment-sets/<int:number>/", sets.SetShow.as_view(), name="set-show"),
    path("projects/<slug:slug>/judgment-sets/<int:number>/archive/", sets.SetArchive.as_view(), name="set-archive"),
    path("projects/<slug:slug>/judgment-sets/<int:number>/files/<str:name>", sets.SetFile.as_view(), name="set-file"),
]

"""Routes of the results API."""

from django.urls import path

from results.agreement import api
from results.leaderboard import api as leaderboard_api
from results.metrics import api as metrics_api
from results.sets import api as sets_api
from results.studies import api as studies_api
from results.systems import api as systems_api
from results.training import api as training_api

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
    path("projects/<slug:slug>/leaderboard/", leaderboard_api.Leaderboard.as_view(), name="leaderboard"),
    path("projects/<slug:slug>/studies/", studies_api.StudyList.as_view(), name="study-list"),
    path("projects/<slug:slug>/studies/<int:number>/", studies_api.StudyShow.as_view(), name="study-show"),
    path("projects/<slug:slug>/studies/<int:number>/cancel/", studies_api.StudyCancel.as_view(), name="study-cancel"),
    path("projects/<slug:slug>/studies/<int:number>/again/", studies_api.StudyAgain.as_view(), name="study-again"),
    path(
        "projects/<slug:slug>/studies/<int:number>/tables/<str:name>.<str:form>",
        studies_api.StudyTable.as_view(),
        name="study-table",
    ),
    path("projects/<slug:slug>/trainings/", training_api.TrainingList.as_view(), name="training-list"),
    path("projects/<slug:slug>/trainings/<int:number>/", training_api.TrainingShow.as_view(), name="training-show"),
    path(
        "projects/<slug:slug>/trainings/<int:number>/start/",
        training_api.TrainingStart.as_view(),
        name="training-start",
    ),
    path(
        "projects/<slug:slug>/trainings/<int:number>/cancel/",
        training_api.TrainingCancel.as_view(),
        name="training-cancel",
    ),
    path(
        "projects/<slug:slug>/trainings/<int:number>/tables/<str:name>.<str:form>",
        training_api.TrainingTable.as_view(),
        name="training-table",
    ),
    path("projects/<slug:slug>/judgment-sets/", sets_api.SetList.as_view(), name="set-list"),
    path("projects/<slug:slug>/judgment-sets/<int:number>/", sets_api.SetShow.as_view(), name="set-show"),
    path("projects/<slug:slug>/judgment-sets/<int:number>/archive/", sets_api.SetArchive.as_view(), name="set-archive"),
    path(
        "projects/<slug:slug>/judgment-sets/<int:number>/files/<str:name>", sets_api.SetFile.as_view(), name="set-file"
    ),
]

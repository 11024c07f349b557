"""The routes of the API of judging."""

from django.urls import path

from annotate.batches import api
from annotate.data import api as data_api
from annotate.imports import api as imports_api
from annotate.moderation import api as moderation_api
from annotate.payments import api as payments_api
from annotate.planning import api as planning_api
from annotate.qualification import api as qualification_api
from annotate.work import api as work_api

PERSON = "projects/<slug:slug>/people/<slug:pseudonym>/"

urlpatterns = [
    path(f"{PERSON}messages/", moderation_api.MessageNew.as_view(), name="person-message"),
    path(f"{PERSON}standing/", moderation_api.PersonStanding.as_view(), name="person-standing"),
    path(f"{PERSON}removal/", moderation_api.PersonRemoval.as_view(), name="person-removal"),
    path("projects/<slug:slug>/datasets/", data_api.DatasetList.as_view(), name="dataset-list"),
    path("projects/<slug:slug>/passages/", data_api.PassageList.as_view(), name="passage-list"),
    path("projects/<slug:slug>/questions/", data_api.QuestionList.as_view(), name="question-list"),
    path("projects/<slug:slug>/candidates/", data_api.CandidateList.as_view(), name="candidate-list"),
    path("projects/<slug:slug>/imports/", imports_api.ImportList.as_view(), name="import-list"),
    path("projects/<slug:slug>/imports/<int:number>/", imports_api.ImportShow.as_view(), name="import-show"),
    path("projects/<slug:slug>/imports/<int:number>/check/", imports_api.ImportCheck.as_view(), name="import-check"),
    path("projects/<slug:slug>/imports/<int:number>/write/", imports_api.ImportWrite.as_view(), name="import-write"),
    path("projects/<slug:slug>/imports/<int:number>/cancel/", imports_api.ImportCancel.as_view(), name="import-cancel"),
    path("projects/<slug:slug>/batches/", api.BatchList.as_view(), name="batch-list"),
    path("projects/<slug:slug>/batches/<int:number>/", api.BatchShow.as_view(), name="batch-show"),
    path("projects/<slug:slug>/batches/<int:number>/state/", api.BatchState.as_view(), name="batch-state"),
    path("projects/<slug:slug>/batches/<int:number>/judgments/", api.BatchJudgments.as_view(), name="batch-judgments"),
    path("projects/<slug:slug>/plans/", planning_api.PlanList.as_view(), name="plan-list"),
    path("projects/<slug:slug>/plans/<int:plan_number>/", planning_api.PlanShow.as_view(), name="plan-show"),
    path("projects/<slug:slug>/plans/<int:plan_number>/start/", planning_api.PlanStart.as_view(), name="plan-start"),
    path("projects/<slug:slug>/qualification/", qualification_api.Qualification.as_view(), name="qualification"),
    path(
        "projects/<slug:slug>/qualification/state/",
        qualification_api.QualificationState.as_view(),
        name="qualification-state",
    ),
    path(
        "projects/<slug:slug>/qualification/items/",
        qualification_api.ItemList.as_view(),
        name="qualification-item-list",
    ),
    path(
        "projects/<slug:slug>/qualification/items/<int:item_id>/",
        qualification_api.ItemShow.as_view(),
        name="qualification-item-show",
    ),
    path("projects/<slug:slug>/qualification/attempts/", qualification_api.AttemptList.as_view(), name="attempt-list"),
    path(
        "projects/<slug:slug>/qualification/decisions/",
        qualification_api.DecisionList.as_view(),
        name="decision-list",
    ),
    path("projects/<slug:slug>/payments/", payments_api.PaymentList.as_view(), name="payment-list"),
    path("projects/<slug:slug>/payments/<int:number>/", payments_api.PaymentShow.as_view(), name="payment-show"),
    path("projects/<slug:slug>/payments/approve/", payments_api.PayApproval.as_view(), name="pay-approval"),
    path("projects/<slug:slug>/balances/", payments_api.BalanceList.as_view(), name="balance-list"),
    path("projects/<slug:slug>/ledger/", payments_api.EntryList.as_view(), name="entry-list"),
    path("projects/<slug:slug>/judgments/", work_api.JudgmentList.as_view(), name="judgment-list"),
]

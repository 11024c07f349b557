"""The routes of judging."""

from django.urls import path

from annotate.batches import hit_views
from annotate.batches import views as batches_views
from annotate.controls import views as controls_views
from annotate.data import pair_views
from annotate.data import views as data_views
from annotate.desk import onboarding_views
from annotate.desk import views as desk_views
from annotate.imports import views as imports_views
from annotate.payments import views
from annotate.planning import views as planning_views
from annotate.reviews import remark_views
from annotate.urls import acting as acting_urls
from annotate.urls import qualification as qualification_urls
from annotate.urls import quality as quality_urls
from annotate.work import views as work_views

app_name = "annotate"

urlpatterns = [
    path("", desk_views.home, name="home"),
    path("desk/", desk_views.desk, name="desk"),
    path("session/", work_views.session, name="session"),
    path("p/<slug:slug>/desk/", desk_views.project_desk, name="project-desk"),
    path("p/<slug:slug>/consent/", onboarding_views.consent, name="consent"),
    path("p/<slug:slug>/consent/withdraw/", onboarding_views.consent_withdraw, name="consent-withdraw"),
    path("p/<slug:slug>/instructions/", onboarding_views.instructions, name="instructions"),
    path(
        "p/<slug:slug>/instructions/<int:version>/read/", onboarding_views.instructions_read, name="instructions-read"
    ),
    path("p/<slug:slug>/history/", desk_views.history, name="history"),
    path("p/<slug:slug>/earned/", desk_views.earnings, name="earnings"),
    path("p/<slug:slug>/work/", work_views.work_start, name="work-start"),
    path("p/<slug:slug>/work/<uuid:assignment_uuid>/", work_views.work_show, name="work-show"),
    path("p/<slug:slug>/work/<uuid:assignment_uuid>/draft/", work_views.work_draft, name="work-draft"),
    path("p/<slug:slug>/work/<uuid:assignment_uuid>/return/", work_views.work_return, name="work-return"),
    path("p/<slug:slug>/work/<uuid:assignment_uuid>/reopen/", work_views.work_reopen, name="work-reopen"),
    path("p/<slug:slug>/work/<uuid:assignment_uuid>/extend/", work_views.work_extend, name="work-extend"),
    path("p/<slug:slug>/data/", data_views.data_overview, name="data-overview"),
    path("p/<slug:slug>/data/candidates/", data_views.data_candidates, name="data-candidates"),
    path("p/<slug:slug>/data/questions/", data_views.data_questions, name="data-questions"),
    path("p/<slug:slug>/data/passages/", data_views.data_passages, name="data-passages"),
    path("p/<slug:slug>/data/passages/<int:pk>/", data_views.passage_show, name="passage-show"),
    path("p/<slug:slug>/data/questions/<int:pk>/pairs/new/", pair_views.pair_new, name="pair-new"),
    path("p/<slug:slug>/data/pairs/", pair_views.pair_list, name="pair-list"),
    path("p/<slug:slug>/data/pairs/<int:pk>/", pair_views.pair_edit, name="pair-edit"),
    path("p/<slug:slug>/data/pairs/<int:pk>/remove/", pair_views.pair_remove, name="pair-remove"),
    path("p/<slug:slug>/data/split/", data_views.data_split, name="data-split"),
    path("p/<slug:slug>/data/imports/", imports_views.import_list, name="import-list"),
    path("p/<slug:slug>/data/imports/new/", imports_views.import_new, name="import-new"),
    path("p/<slug:slug>/data/imports/<int:number>/", imports_views.import_show, name="import-show"),
    path("p/<slug:slug>/data/imports/<int:number>/check/", imports_views.import_check, name="import-check"),
    path("p/<slug:slug>/data/imports/<int:number>/reopen/", imports_views.import_reopen, name="import-reopen"),
    path("p/<slug:slug>/data/imports/<int:number>/write/", imports_views.import_write, name="import-write"),
    path("p/<slug:slug>/data/imports/<int:number>/cancel/", imports_views.import_cancel, name="import-cancel"),
    path("p/<slug:slug>/data/imports/<int:number>/job/", imports_views.import_job, name="import-job"),
    path("p/<slug:slug>/data/imports/<int:number>/file/", imports_views.import_file, name="import-file"),
    path("p/<slug:slug>/plans/", planning_views.plan_list, name="plan-list"),
    path("p/<slug:slug>/plans/new/", planning_views.plan_new, name="plan-new"),
    path("p/<slug:slug>/plans/<int:plan_number>/", planning_views.plan_show, name="plan-show"),
    path("p/<slug:slug>/plans/<int:plan_number>/edit/", planning_views.plan_edit, name="plan-edit"),
    path("p/<slug:slug>/plans/<int:plan_number>/start/", planning_views.plan_start, name="plan-start"),
    path("p/<slug:slug>/batches/", batches_views.batch_list, name="batch-list"),
    path("p/<slug:slug>/batches/new/", batches_views.batch_new, name="batch-new"),
    path("p/<slug:slug>/batches/<int:number>/", batches_views.batch_show, name="batch-show"),
    path("p/<slug:slug>/batches/<int:number>/state/", batches_views.batch_state, name="batch-state"),
    path("p/<slug:slug>/batches/<int:number>/caps/", batches_views.batch_caps, name="batch-caps"),
    path("p/<slug:slug>/batches/<int:number>/judgments/", batches_views.batch_wanted, name="batch-wanted"),
    path("p/<slug:slug>/batches/<int:number>/controls/", controls_views.control_list, name="batch-controls"),
    path("p/<slug:slug>/batches/<int:number>/controls/plan/", controls_views.control_plan, name="control-plan"),
    path("p/<slug:slug>/batches/<int:number>/controls/act/", controls_views.control_act, name="control-act"),
    path("p/<slug:slug>/batches/<int:number>/hits/<int:hit_number>/", hit_views.hit_show, name="hit-show"),
    path(
        "p/<slug:slug>/batches/<int:number>/hits/<int:hit_number>/preview/", hit_views.hit_preview, name="hit-preview"
    ),
    *qualification_urls.urlpatterns,
    *acting_urls.urlpatterns,
    *quality_urls.urlpatterns,
    path("p/<slug:slug>/remarks/", remark_views.remark_list, name="remark-list"),
    path("p/<slug:slug>/remarks/<int:pk>/", remark_views.remark_resolve, name="remark-resolve"),
    path("p/<slug:slug>/payments/", views.payment_list, name="payment-list"),
    path("p/<slug:slug>/payments/make/", views.payment_make, name="payment-make"),
    path("p/<slug:slug>/payments/approve/", views.payment_approve, name="payment-approve"),
    path("p/<slug:slug>/payments/<int:number>/", views.payment_show, name="payment-show"),
    path("p/<slug:slug>/payments/<int:number>/file/", views.payment_file, name="payment-file"),
    path("p/<slug:slug>/payments/of/<slug:pseudonym>/", views.ledger_show, name="ledger-show"),
]

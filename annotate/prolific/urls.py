"""Routes of Prolific: its account, a panel's study, and the address of its messages."""

from django.urls import path

from annotate.prolific import bonus_views, hook_view, views

STUDY = "p/<slug:slug>/panels/<int:number>/prolific/"

urlpatterns = [
    path("p/<slug:slug>/prolific/", views.account, name="prolific-account"),
    path("p/<slug:slug>/prolific/act/", views.account_act, name="prolific-account-act"),
    path(STUDY, views.study_show, name="prolific-study"),
    path(f"{STUDY}edit/", views.study_edit, name="prolific-study-edit"),
    path(f"{STUDY}places/", views.study_places, name="prolific-study-places"),
    path(f"{STUDY}act/", views.study_act, name="prolific-study-act"),
    path(f"{STUDY}submissions/<int:submission_id>/", views.submission_act, name="prolific-submission-act"),
    path(f"{STUDY}submissions/<int:submission_id>/reject/", views.submission_reject, name="prolific-submission-reject"),
    path(f"{STUDY}bonuses/new/", bonus_views.bonus_new, name="prolific-bonus-new"),
    path(f"{STUDY}bonuses/<int:bonus_number>/", bonus_views.bonus_show, name="prolific-bonus-show"),
    path(f"{STUDY}bonuses/<int:bonus_number>/act/", bonus_views.bonus_act, name="prolific-bonus-act"),
    path("hooks/prolific/<slug:token>/", hook_view.receive, name="prolific-hook"),
]

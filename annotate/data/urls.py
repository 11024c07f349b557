"""Routes of the data: passages, questions, candidates, pairs, withdrawal."""

from django.urls import path

from annotate.data import pair_views, views, withdrawal_views

urlpatterns = [
    path("p/<slug:slug>/data/", views.data_overview, name="data-overview"),
    path("p/<slug:slug>/data/candidates/", views.data_candidates, name="data-candidates"),
    path("p/<slug:slug>/data/questions/", views.data_questions, name="data-questions"),
    path("p/<slug:slug>/data/passages/", views.data_passages, name="data-passages"),
    path("p/<slug:slug>/data/passages/<int:pk>/", views.passage_show, name="passage-show"),
    path("p/<slug:slug>/data/questions/<int:pk>/pairs/new/", pair_views.pair_new, name="pair-new"),
    path("p/<slug:slug>/data/pairs/", pair_views.pair_list, name="pair-list"),
    path("p/<slug:slug>/data/pairs/<int:pk>/", pair_views.pair_edit, name="pair-edit"),
    path("p/<slug:slug>/data/pairs/<int:pk>/remove/", pair_views.pair_remove, name="pair-remove"),
    path("p/<slug:slug>/data/split/", views.data_split, name="data-split"),
    path(
        "p/<slug:slug>/data/candidates/<int:pk>/withdraw/",
        withdrawal_views.candidate_withdraw,
        name="candidate-withdraw",
    ),
    path("p/<slug:slug>/data/passages/<int:pk>/withdraw/", withdrawal_views.passage_withdraw, name="passage-withdraw"),
]

"""Routes of batches and their HITs."""

from django.urls import path

from annotate.batches import batch_act_views, hit_views, views

urlpatterns = [
    path("p/<slug:slug>/batches/", views.batch_list, name="batch-list"),
    path("p/<slug:slug>/batches/new/", views.batch_new, name="batch-new"),
    path("p/<slug:slug>/batches/<int:number>/", views.batch_show, name="batch-show"),
    path("p/<slug:slug>/batches/<int:number>/state/", batch_act_views.batch_state, name="batch-state"),
    path("p/<slug:slug>/batches/<int:number>/caps/", batch_act_views.batch_caps, name="batch-caps"),
    path("p/<slug:slug>/batches/<int:number>/judgments/", batch_act_views.batch_wanted, name="batch-wanted"),
    path("p/<slug:slug>/batches/<int:number>/hits/<int:hit_number>/", hit_views.hit_show, name="hit-show"),
    path(
        "p/<slug:slug>/batches/<int:number>/hits/<int:hit_number>/preview/", hit_views.hit_preview, name="hit-preview"
    ),
]

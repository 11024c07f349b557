"""Routes of webhooks."""

from django.urls import path

from projects.webhooks import views

urlpatterns = [
    path("p/<slug:slug>/webhooks/", views.webhook_list, name="webhook-list"),
    path("p/<slug:slug>/webhooks/new/", views.webhook_new, name="webhook-new"),
    path("p/<slug:slug>/webhooks/<int:webhook_id>/", views.webhook_show, name="webhook-show"),
    path("p/<slug:slug>/webhooks/<int:webhook_id>/act/", views.webhook_act, name="webhook-act"),
    path(
        "p/<slug:slug>/webhooks/<int:webhook_id>/messages/<int:delivery_id>/again/",
        views.webhook_resend,
        name="webhook-resend",
    ),
]

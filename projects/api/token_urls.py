"""Routes of API tokens."""

from django.urls import path

from projects.api import token_views

urlpatterns = [
    path("p/<slug:slug>/tokens/", token_views.token_list, name="token-list"),
    path("p/<slug:slug>/tokens/new/", token_views.token_new, name="token-new"),
    path("p/<slug:slug>/tokens/<int:token_id>/rotate/", token_views.token_rotate, name="token-rotate"),
    path("p/<slug:slug>/tokens/<int:token_id>/revoke/", token_views.token_revoke, name="token-revoke"),
]

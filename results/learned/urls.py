"""Routes of the models of learned metrics, which are the site's and no project's."""

from django.urls import path

from results.learned import views

urlpatterns = [
    path("models/", views.model_list, name="model-list"),
    path("models/verify/", views.model_verify, name="model-verify"),
    path("models/remove/", views.model_remove, name="model-remove"),
]

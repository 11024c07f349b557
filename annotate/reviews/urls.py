"""Routes of spot checks, adjudication and comments."""

from django.urls import path

from annotate.reviews import adjudication_views, remark_views, views

QUALITY = "p/<slug:slug>/quality/"

urlpatterns = [
    path("p/<slug:slug>/adjudication/", adjudication_views.adjudication_list, name="adjudication-list"),
    path("p/<slug:slug>/adjudication/rule/", adjudication_views.adjudication_rule, name="adjudication-rule"),
    path("p/<slug:slug>/adjudication/<int:pk>/", adjudication_views.adjudication_settle, name="adjudication-settle"),
    path(f"{QUALITY}reviews/", views.review_list, name="review-list"),
    path(f"{QUALITY}reviews/<int:pk>/", views.review_show, name="review-show"),
    path(f"{QUALITY}reviews/<int:pk>/verdicts/", views.review_judge, name="review-judge"),
    path("p/<slug:slug>/remarks/", remark_views.remark_list, name="remark-list"),
    path("p/<slug:slug>/remarks/<int:pk>/", remark_views.remark_resolve, name="remark-resolve"),
]

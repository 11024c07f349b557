"""The routes of watching quality."""

from django.urls import path

from annotate.quality import annotator_views, finding_views
from annotate.quality import views as quality_views
from annotate.reviews import views

QUALITY = "p/<slug:slug>/quality/"

urlpatterns = [
    path(QUALITY, quality_views.quality_list, name="quality-list"),
    path(f"{QUALITY}refresh/", quality_views.quality_refresh, name="quality-refresh"),
    path(f"{QUALITY}rules/", quality_views.quality_rules, name="quality-rules"),
    path(f"{QUALITY}findings/", finding_views.finding_list, name="finding-list"),
    path(f"{QUALITY}findings/settle/", finding_views.finding_settle, name="finding-settle"),
    path(f"{QUALITY}reviews/", views.review_list, name="review-list"),
    path(f"{QUALITY}reviews/<int:pk>/", views.review_show, name="review-show"),
    path(f"{QUALITY}reviews/<int:pk>/verdicts/", views.review_judge, name="review-judge"),
    path(f"{QUALITY}<slug:pseudonym>/", annotator_views.annotator_show, name="annotator-show"),
]

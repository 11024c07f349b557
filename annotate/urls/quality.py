"""The routes of watching quality."""

from django.urls import path

from annotate.reviews import views
from annotate.views import annotators, findings, quality

QUALITY = "p/<slug:slug>/quality/"

urlpatterns = [
    path(QUALITY, quality.quality_list, name="quality-list"),
    path(f"{QUALITY}refresh/", quality.quality_refresh, name="quality-refresh"),
    path(f"{QUALITY}rules/", quality.quality_rules, name="quality-rules"),
    path(f"{QUALITY}findings/", findings.finding_list, name="finding-list"),
    path(f"{QUALITY}findings/settle/", findings.finding_settle, name="finding-settle"),
    path(f"{QUALITY}reviews/", views.review_list, name="review-list"),
    path(f"{QUALITY}reviews/<int:pk>/", views.review_show, name="review-show"),
    path(f"{QUALITY}reviews/<int:pk>/verdicts/", views.review_judge, name="review-judge"),
    path(f"{QUALITY}<slug:pseudonym>/", annotators.annotator_show, name="annotator-show"),
]

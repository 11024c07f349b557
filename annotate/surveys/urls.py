"""Routes of the managers' pages of surveys. The annotators' own is in `annotate.desk`."""

from django.urls import path

from annotate.surveys import views

SURVEY = "p/<slug:slug>/surveys/<slug:moment>/"

urlpatterns = [
    path("p/<slug:slug>/surveys/", views.survey_list, name="survey-list"),
    path(f"{SURVEY}edit/", views.survey_edit, name="survey-edit"),
    path(f"{SURVEY}end/", views.survey_end, name="survey-end"),
    path(f"{SURVEY}answers/", views.survey_answers, name="survey-answers"),
    path(f"{SURVEY}answers/file/", views.survey_file, name="survey-file"),
]

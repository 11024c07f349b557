"""The routes of accounts, projects and people."""

from django.urls import path

from projects.views import accounts

app_name = "projects"

urlpatterns = [
    path("sign-in/", accounts.sign_in, name="sign-in"),
    path("sign-out/", accounts.sign_out, name="sign-out"),
    path("account/", accounts.account, name="account"),
    path("account/password/", accounts.password_change, name="password-change"),
    path("reset/", accounts.password_forgotten, name="password-forgotten"),
    path("reset/<str:uidb64>/<str:token>/", accounts.password_reset, name="password-reset"),
]

"""Routes of signing in and of a user's own account."""

from django.urls import path

from projects.accounts import views

urlpatterns = [
    path("sign-in/", views.sign_in, name="sign-in"),
    path("first-owner/", views.first_owner_new, name="first-owner"),
    path("sign-out/", views.sign_out, name="sign-out"),
    path("accessibility/", views.accessibility, name="accessibility"),
    path("privacy/", views.privacy, name="privacy"),
    path("language/", views.language_choose, name="language"),
    path("account/", views.account, name="account"),
    path("account/password/", views.password_change, name="password-change"),
    path("account/keys/", views.rating_keys, name="rating-keys"),
    path("reset/", views.password_forgotten, name="password-forgotten"),
    path("reset/<str:uidb64>/<str:token>/", views.password_reset, name="password-reset"),
]

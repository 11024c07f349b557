"""Routes of signing in and of a user's own account."""

from django.urls import path

from projects.accounts import security_views, single_sign_on_views, step_views, views

urlpatterns = [
    path("sign-in/", views.sign_in, name="sign-in"),
    path("sign-in/code/", step_views.second_step, name="second-step"),
    path("sign-in/passkey/", step_views.passkey_sign_in, name="passkey-sign-in"),
    path("sign-in/passkey/options/", step_views.passkey_options, name="passkey-options"),
    path("sign-in/sso/", single_sign_on_views.single_sign_on_start, name="single-sign-on"),
    path("sign-in/sso/callback/", single_sign_on_views.single_sign_on_callback, name="single-sign-on-callback"),
    path("first-owner/", views.first_owner_new, name="first-owner"),
    path("sign-out/", views.sign_out, name="sign-out"),
    path("accessibility/", views.accessibility, name="accessibility"),
    path("privacy/", views.privacy, name="privacy"),
    path("language/", views.language_choose, name="language"),
    path("account/", views.account, name="account"),
    path("account/password/", views.password_change, name="password-change"),
    path("account/keys/", views.rating_keys, name="rating-keys"),
    path("account/confirm/", security_views.confirm, name="confirm"),
    path("account/confirm/sso/", single_sign_on_views.single_sign_on_confirm, name="confirm-single-sign-on"),
    path("account/security/", security_views.security, name="security"),
    path("account/security/app/", security_views.app_set_up, name="app-set-up"),
    path("account/security/app/new/", security_views.app_new, name="app-new"),
    path("account/security/codes/", security_views.recovery_codes, name="recovery-codes"),
    path("account/security/factors/<int:pk>/remove/", security_views.factor_remove, name="factor-remove"),
    path("account/security/passkeys/new/", security_views.passkey_new, name="passkey-new"),
    path("account/security/passkeys/options/", security_views.passkey_new_options, name="passkey-new-options"),
    path("account/security/sso/link/", single_sign_on_views.identity_link, name="identity-link"),
    path("account/security/sso/unlink/", single_sign_on_views.identity_unlink, name="identity-unlink"),
    path("reset/", views.password_forgotten, name="password-forgotten"),
    path("reset/<str:uidb64>/<str:token>/", views.password_reset, name="password-reset"),
]

"""What django-allauth asks of this site: nobody signs up through it, and the secrets of factors are encrypted."""

import logging
from typing import Any, NoReturn

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.http import HttpRequest

from projects.database import encryption
from projects.models import User

logger = logging.getLogger(__name__)

SALT = "projects.accounts.adapters"
"""Constant, so that the stored secrets can be read, whatever this module is called."""
PURPOSE = "second factors"


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False


class FactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """How second factors are stored, and by which names apps and devices show them."""

    def encrypt(self, text: str) -> str:
        return encryption.encrypt(text, salt=SALT, purpose=PURPOSE)

    def decrypt(self, encrypted_text: str) -> str:
        """Return the secret. Raises InvalidToken if SECRET_KEY has changed since it was stored."""
        return encryption.decrypt(encrypted_text, salt=SALT, purpose=PURPOSE)

    def get_totp_label(self, user: User) -> str:
        return user.get_username()

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        return {"id": context.request.get_host().partition(":")[0], "name": "Concord"}

    def get_public_key_credential_user_entity(self, user: User) -> dict[str, Any]:
        entity: dict[str, Any] = super().get_public_key_credential_user_entity(user)
        return {**entity, "name": user.get_username(), "display_name": user.get_full_name() or user.get_username()}


class IdentityAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """What happens with an identity once its provider has confirmed it: only what `single_sign_on` decides."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        return False

    def authenticate_by_email(self, sociallogin: Any) -> None:
        return None

    def get_requests_session(self) -> Any:
        from projects.accounts import oidc

        return oidc.ProviderSession()

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> NoReturn:
        from projects.accounts import single_sign_on_views

        raise ImmediateHttpResponse(single_sign_on_views.complete(request, sociallogin))

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: Any = None,
        exception: Exception | None = None,
        extra_context: Any = None,
    ) -> NoReturn:
        from projects.accounts import single_sign_on_views

        # The exception may quote what the provider sent, and the reader could do nothing with it.
        logger.warning("Single sign-on failed: %s (%s)", error, type(exception).__name__ if exception else "no code")
        raise ImmediateHttpResponse(single_sign_on_views.answer_failure(request))

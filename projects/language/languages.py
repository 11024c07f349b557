"""Languages: which one a page is given in. Annotators' pages are translated, those of researchers and managers are not.

What a person has chosen comes first, then the project's language on the project's pages, and elsewhere what the
browser asks for.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from babel import Locale
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.translation import ngettext

from projects.models import Membership, User

LOCALES = {"en": "en_GB"}
"""How dates and numbers are written, where the language alone does not say it."""


class LanguageMiddleware:
    """Gives each page in its language; that of a page inside a project is settled when its membership is known."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with translation.override(translation.get_language_from_request(request)):
            response = self.get_response(request)
            response.headers.setdefault("Content-Language", current_language())
        patch_vary_headers(response, ("Accept-Language",))
        return response

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponseBase], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        policy = getattr(view, "policy", None)
        if policy is None or not policy.is_translated:
            translation.activate(settings.LANGUAGE_CODE)
            return
        request.offers_languages = True  # type: ignore[attr-defined]
        if policy.name != "public" and isinstance(request.user, User):
            _turn_to(request.user.language)


def activate_for(membership: Membership) -> None:
    """Turn to the language that a member reads the project's pages in."""
    _turn_to(membership.project.language)
    if membership.user:
        _turn_to(membership.user.language)


def _turn_to(language: str) -> None:
    """Speak a language that is offered; one that no longer is changes nothing."""
    if is_known(language):
        translation.activate(language)


def find_language(membership: Membership) -> str:
    """The language that a member reads the project in, also while somebody else's page is made."""
    chosen = (membership.user.language if membership.user else "", membership.project.language)
    return next((language for language in chosen if is_known(language)), settings.LANGUAGE_CODE)


def current_language() -> str:
    return translation.get_language() or settings.LANGUAGE_CODE


def remember(response: HttpResponse, language: str) -> None:
    """Keep the choice on this device, for pages where nobody is signed in."""
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        language,
        max_age=settings.LANGUAGE_COOKIE_AGE,
        secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
        samesite="Lax",
    )


def is_known(language: str) -> bool:
    return language in dict(settings.LANGUAGES)


def locale() -> Locale:
    """The conventions of the language that is spoken now."""
    return _locale(current_language())


@lru_cache(maxsize=16)
def _locale(language: str) -> Locale:
    return Locale.parse(LOCALES.get(language, language))


def plural_forms(singular: str, plural: str) -> dict[str, str]:
    """A sentence about {n} things in each form that the language has, for a script to choose from by its number.

    The keys are those of CLDR, by which `Intl.PluralRules` answers in the browser.
    """
    form_of = locale().plural_form
    examples = {form_of(n): n for n in range(200, -1, -1)}
    return {form: ngettext(singular, plural, n) for form, n in examples.items()}

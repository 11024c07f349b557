"""The language of a page. Annotators' pages are translated, those of researchers and managers are not.

A person's own choice comes first. Without one, the pages of a project and its invitations are in its language, and all
others in the language that the browser asks for.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from babel import Locale
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.translation import ngettext, to_locale

from projects.models import Membership, Project, User

LOCALES = {"en": "en_GB"}
"""The locale of dates and numbers for languages with several: British English writes the day before the month."""


class LanguageMiddleware:
    """Activate the language of each page; `activate_for` does it again once the membership in a project is known."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with translation.override(translation.get_language_from_request(request)):
            response = self.get_response(request)
            response.headers.setdefault("Content-Language", current_language())
        # A cache must not give a page in one language to a reader of another.
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
    """Activate the language in which a member reads the project's pages."""
    _turn_to(membership.project.language)
    if membership.user:
        _turn_to(membership.user.language)


def activate_for_visitor(request: HttpRequest, project: Project) -> None:
    """Activate the language in which somebody reads an invitation: the one that they have chosen, or the project's."""
    user, cookie = request.user, request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
    chosen = user.language if isinstance(user, User) else cookie
    _turn_to(chosen or project.language)


def _turn_to(language: str) -> None:
    """Activate a language; one that is not, or no longer, offered changes nothing."""
    if is_known(language):
        translation.activate(language)


def find_language(membership: Membership) -> str:
    """Return the language in which a member reads the project, for texts written in another person's request."""
    chosen = (membership.user.language if membership.user else "", membership.project.language)
    return next((language for language in chosen if is_known(language)), settings.LANGUAGE_CODE)


def current_language() -> str:
    return translation.get_language() or settings.LANGUAGE_CODE


def remember(response: HttpResponse, language: str) -> None:
    """Store the choice in a cookie, for pages on which nobody is signed in."""
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        language,
        max_age=settings.LANGUAGE_COOKIE_AGE,
        secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
        samesite="Lax",
    )


def is_known(language: str) -> bool:
    return any(language == code for code, _ in settings.LANGUAGES)


def locale() -> Locale:
    """Return the locale of the current language."""
    return _locale(current_language())


@lru_cache(maxsize=16)
def _locale(language: str) -> Locale:
    return Locale.parse(LOCALES.get(language, to_locale(language)))


def plural_forms(singular: str, plural: str) -> dict[str, str]:
    """Return a sentence about {n} things in each plural form of the language, from which a script chooses.

    The keys are the categories of CLDR, which `Intl.PluralRules` returns in the browser.
    """
    find_form = locale().plural_form
    # gettext takes a number, not a category, so each category needs a number that belongs to it. The numbers up to 200
    # cover every category of whole numbers in the languages offered; counting down leaves the smallest of each.
    examples = {find_form(n): n for n in range(200, -1, -1)}
    return {form: ngettext(singular, plural, n) for form, n in examples.items()}

"""The OpenID Connect client: allauth's, with every identity token checked in full. Imported only where it is used."""

import hashlib
import logging
import time
from typing import Any

import jwt
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from requests import RequestException, Response, Session, Timeout, TooManyRedirects
from urllib3.exceptions import HTTPError

from projects.accounts.single_sign_on import make_key
from projects.web.links import absolute_url
from projects.web.outgoing import run_within

logger = logging.getLogger(__name__)

ALGORITHMS = [f"{kind}{bits}" for kind in ("RS", "PS", "ES") for bits in (256, 384, 512)] + ["EdDSA"]
"""Signatures with a public key. Neither “none” nor HMAC is among them: a public key could pass as its secret."""
CLAIMS = ["iss", "sub", "aud", "exp", "iat"]
LEEWAY_SECONDS = 60
"""How far the provider's clock may be off."""
RECENT_SECONDS = 300
"""How long after the provider asked for the password its word is a proof of who is there."""
MOST_BYTES = 1_000_000
"""Of an answer: a hundred times what providers send."""
UNREADABLE = (AttributeError, KeyError, TypeError, ValueError, RecursionError)
"""What comes of an answer that is no JSON, or not what OpenID Connect says."""
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class Provider(OpenIDConnectProvider):  # type: ignore[misc]
    def get_pkce_params(self) -> dict[str, Any]:
        # Always, not only where it is configured. The nonce follows from the verifier, which the session keeps.
        from allauth.socialaccount.providers.oauth2.utils import generate_code_challenge

        params: dict[str, Any] = generate_code_challenge()
        return {**params, "nonce": derive_nonce(params["code_verifier"])}

    def get_oauth2_adapter(self, request: HttpRequest) -> "Adapter":
        return Adapter(request)

    def sociallogin_from_response(self, request: HttpRequest, response: dict[str, Any]) -> SocialLogin:
        login = super().sociallogin_from_response(request, response)
        login.claims = response
        return login

    def extract_uid(self, data: dict[str, Any]) -> str:
        return str(data["sub"])

    def extract_extra_data(self, data: dict[str, Any]) -> dict[str, Any]:
        return {"email": str(data.get("email") or "")}  # all that is stored, to name the identity on the account page

    def extract_common_fields(self, data: dict[str, Any]) -> dict[str, Any]:
        return {}

    def extract_email_addresses(self, data: dict[str, Any]) -> list[Any]:
        return []


class Adapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request, make_key())
        self.nonce = ""

    def get_provider(self) -> Provider:
        app = SocialApp(
            provider=Provider.id,
            provider_id=make_key(),
            name=settings.OIDC_NAME,
            client_id=settings.OIDC_CLIENT_ID,
            secret=settings.OIDC_CLIENT_SECRET,
            settings={"server_url": settings.OIDC_ISSUER.rstrip("/")},
        )
        return Provider(self.request, app=app)

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        return absolute_url(reverse("projects:single-sign-on-callback"), request)

    @property
    def openid_config(self) -> dict[str, Any]:
        """Return the provider's description of itself. Raises OAuth2Error if it is another provider's or incomplete."""
        try:
            config: dict[str, Any] = super().openid_config
        except UNREADABLE as error:
            raise OAuth2Error("The configuration cannot be read.") from error
        if not isinstance(config.get("issuer"), str):
            raise OAuth2Error("The configuration names no issuer.")
        if config["issuer"].rstrip("/") != settings.OIDC_ISSUER.rstrip("/"):
            raise OAuth2Error("The configuration is that of another issuer.")
        if not all(str(config.get(name, "")).startswith(("https://", "http://")) for name in ENDPOINTS):
            raise OAuth2Error("The configuration lacks an endpoint.")
        return config

    def get_access_token_data(
        self, request: HttpRequest, app: SocialApp, client: Any, pkce_code_verifier: str | None = None
    ) -> dict[str, Any]:
        self.nonce = derive_nonce(pkce_code_verifier or "")
        try:
            data: dict[str, Any] = super().get_access_token_data(request, app, client, pkce_code_verifier)
            return {**data}
        except UNREADABLE as error:
            raise OAuth2Error("The provider's answer to the code cannot be read.") from error

    def parse_token(self, data: dict[str, Any]) -> SocialToken:
        return SocialToken(token=str(data["access_token"]))  # never stored

    def complete_login(self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any) -> SocialLogin:
        """Return the identity that the token names. Raises OAuth2Error for a token that is not for this sign-in."""
        config = self.openid_config
        claims = read_token(
            kwargs["response"].get("id_token"),
            _fetch_keys(config["jwks_uri"]),
            issuer=config["issuer"],
            client_id=app.client_id,
            nonce=self.nonce,
        )
        return self.get_provider().sociallogin_from_response(request, claims)


class ProviderSession(Session):
    """Requests to the provider: an answer has a time and a size, however it comes, and leads to no other address.

    The timeout of the library is that of each read, and it follows redirects with the secret of this client.
    """

    def request(self, *args: Any, **options: Any) -> Response:
        seconds = settings.SOCIALACCOUNT_REQUESTS_TIMEOUT
        try:
            return run_within(seconds, lambda: self._ask(seconds, *args, **options))
        except TimeoutError as error:
            raise Timeout("The provider does not answer in time.") from error

    def _ask(self, seconds: float, *args: Any, **options: Any) -> Response:
        ends_at = time.monotonic() + seconds
        options |= {"timeout": seconds, "stream": True, "allow_redirects": False}
        with super().request(*args, **options) as response:
            if response.is_redirect:
                raise TooManyRedirects("The provider sends its clients on.")
            response._content = _read_body(response, ends_at)
        return response


def _read_body(response: Response, ends_at: float) -> bytes:
    body = b""
    try:
        while part := response.raw.read1(MOST_BYTES, decode_content=True):
            body += part
            if len(body) > MOST_BYTES:
                raise RequestException("The provider's answer is too long.")
            if time.monotonic() > ends_at:
                raise Timeout("The provider's answer does not end.")
    except HTTPError as error:
        raise RequestException("The provider's answer breaks off.") from error
    return body


def _fetch_keys(address: str) -> Any:
    with get_adapter().get_requests_session() as session:
        answer = session.get(address)
        answer.raise_for_status()
        try:
            return answer.json()
        except UNREADABLE as error:
            raise OAuth2Error("The provider's keys cannot be read.") from error


def read_token(token: Any, keys: Any, *, issuer: str, client_id: str, nonce: str) -> dict[str, Any]:
    """Return the claims of an identity token. Raises OAuth2Error unless all that OpenID Connect requires holds."""
    try:
        kid = jwt.get_unverified_header(token).get("kid")
        known = jwt.PyJWKSet.from_dict(keys).keys
        key = next(each for each in known if each.key_id == kid or (kid is None and len(known) == 1))
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=ALGORITHMS,
            audience=client_id,
            issuer=issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": CLAIMS},
        )
    except (jwt.PyJWTError, StopIteration, *UNREADABLE) as error:
        raise OAuth2Error("The identity token is not valid.") from error
    if not (nonce and constant_time_compare(str(claims.get("nonce", "")), nonce)):
        raise OAuth2Error("The identity token is that of another sign-in.")
    if claims.get("azp", client_id) != client_id:
        raise OAuth2Error("The identity token is for another client.")
    if not (isinstance(claims["sub"], str) and 0 < len(claims["sub"]) <= 255):
        raise OAuth2Error("The identity token names nobody.")
    return claims


def derive_nonce(verifier: str) -> str:
    return hashlib.sha256(f"nonce {verifier}".encode()).hexdigest() if verifier else ""


def make_address(request: HttpRequest, *, process: str, target: str = "", user_pk: int | None = None) -> str | None:
    """Return the address at the provider where people sign in, or None if it can't be reached or is not configured so.

    `process` says what the identity is for. To confirm who somebody is, the provider must ask for the password anew. It
    is asked to say when it did so last, which some leave out otherwise.
    """
    asked = {"claims": '{"id_token":{"auth_time":{"essential":true}}}'}
    if process == "confirm":
        asked |= {"prompt": "login", "max_age": "0"}
    provider = Adapter(request).get_provider()
    try:
        response = provider.redirect(
            request, process=process, next_url=target or None, data={"user": user_pk}, auth_params=asked
        )
    except (RequestException, OAuth2Error, ValueError) as error:
        _log_failure(error)
        return None
    return response.url if isinstance(response, HttpResponseRedirect) else None


def answer_callback(request: HttpRequest) -> HttpResponse | None:
    """Return the answer to somebody who comes back from the provider: `IdentityAdapter` gives it.

    It is None if the provider's configuration cannot be read now, for which allauth has no answer.
    """
    try:
        answer: HttpResponse = OAuth2CallbackView.adapter_view(Adapter(request))(request)
    except (RequestException, OAuth2Error) as error:
        _log_failure(error)
        return None
    return answer


def _log_failure(error: Exception) -> None:
    # The error may quote what the provider sent.
    logger.warning("Single sign-on failed: the provider's configuration cannot be read (%s)", type(error).__name__)


def is_recent(claims: dict[str, Any]) -> bool:
    """Return whether the provider says that it asked for the password just now."""
    at = claims.get("auth_time")
    return isinstance(at, int | float) and time.time() - at <= RECENT_SECONDS + LEEWAY_SECONDS

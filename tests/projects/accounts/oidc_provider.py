"""An OpenID Connect provider on this machine, which can be told to be unkind."""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm

CLIENT_ID, CLIENT_SECRET = "concord", "told to both"


class Provider:
    """What the provider answers; `claims` are those of whoever signs in there, and the rest goes wrong by choice."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.claims: dict[str, Any] = {"sub": "7", "email": "alice@example.org", "email_verified": True}
        self.config: dict[str, Any] = {}
        self.token: dict[str, Any] = {}
        """Claims of the token that replace those it should have; None leaves one out."""
        self.signing = "ES256"
        self.is_up = True
        self.padding: Callable[[], Iterable[bytes]] = tuple
        """Blank space before its answers, which JSON allows."""
        self.hesitation: Callable[[], Iterable[bytes]] = tuple
        """Parts of a header before its own."""
        self.elsewhere = ""
        """Where its token endpoint sends others on, if anywhere."""
        self.codes: dict[str, dict[str, str]] = {}
        self.asked: dict[str, str] = {}
        self.url = ""

    def sign_in(self, address: str) -> str:
        """Go to the provider as a browser does, and return the address that it sends the browser back to."""
        self.asked = dict(parse_qsl(urlsplit(address).query))
        code = secrets.token_urlsafe(8)
        self.codes[code] = self.asked
        return f"{self.asked['redirect_uri']}?{urlencode({'code': code, 'state': self.asked['state']})}"

    def describe(self) -> dict[str, Any]:
        paths = {"authorization_endpoint": "auth", "token_endpoint": "token", "jwks_uri": "keys"}
        config = {name: f"{self.url}/{path}" for name, path in paths.items()}
        return {
            "issuer": self.url,
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
            **config,
            **self.config,
        }

    def keys(self) -> dict[str, Any]:
        public = json.loads(ECAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**public, "kid": "one", "use": "sig", "alg": "ES256"}]}

    def exchange(self, sent: dict[str, str]) -> dict[str, Any] | None:
        """Return tokens for a code: once, to the client, with the verifier that belongs to the challenge."""
        asked = self.codes.pop(sent.get("code", ""), None)
        if asked is None or (sent.get("client_id"), sent.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
            return None
        digest = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(digest).decode().rstrip("=") != asked["code_challenge"]:
            return None
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            "auth_time": now,
        }
        claims = {name: value for name, value in {**claims, **self.claims, **self.token}.items() if value is not None}
        return {"access_token": "opaque", "token_type": "Bearer", "id_token": self.sign(claims)}

    def sign(self, claims: dict[str, Any]) -> str:
        headers = {"kid": "one"}
        if self.signing == "none":
            return jwt.encode(claims, "", algorithm="none", headers=headers)
        if self.signing == "HS256":  # with the public key as the secret, which everybody knows
            public = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
            return jwt.encode(claims, public, algorithm="HS256", headers=headers)
        if self.signing == "another key":
            return jwt.encode(claims, ec.generate_private_key(ec.SECP256R1()), algorithm="ES256", headers=headers)
        return jwt.encode(claims, self.key, algorithm="ES256", headers=headers)


@contextmanager
def provider() -> Iterator[Provider]:
    found = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            pages = {"/.well-known/openid-configuration": found.describe, "/keys": found.keys}
            self._answer(pages[self.path]() if self.path in pages else None)

        def do_POST(self) -> None:
            sent = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            if found.elsewhere:
                self.send_response(307)
                self.send_header("Location", found.elsewhere)
                self.end_headers()
                return
            self._answer(found.exchange({name: values[0] for name, values in sent.items()}))

        def _answer(self, body: dict[str, Any] | None) -> None:
            self.send_response(200 if body is not None and found.is_up else 400 if found.is_up else 503)
            self.send_header("Content-Type", "application/json")
            try:
                self.flush_headers()
                for part in found.hesitation():
                    self.wfile.write(part)
                self.end_headers()
                for part in found.padding():
                    self.wfile.write(part)
            except OSError:
                return  # nobody reads it any more
            self.wfile.write(json.dumps(body or {"error": "no"}).encode())

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()

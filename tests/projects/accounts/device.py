"""A device that makes and uses passkeys, as a browser passes its answers on."""

import hashlib
import json
import struct
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor
from fido2.utils import websafe_encode

PRESENT, VERIFIED, HAS_CREDENTIAL, HAS_EXTENSIONS = 1, 4, 64, 128


class Device:
    """Holds one key, of the user whom the options of its passkey named."""

    def __init__(self, name: str = "device") -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id = hashlib.sha256(name.encode()).digest()
        self.handle = ""

    def create(self, options: dict[str, Any], **changes: Any) -> dict[str, Any]:
        """Return what a browser sends for a new passkey."""
        asked = options["publicKey"]
        self.handle = asked["user"]["id"]
        numbers = self.key.public_key().public_numbers()
        # As COSE names them: a key of two coordinates, for ES256, on P-256.
        cose = cbor.encode({1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")})
        made = bytes(16) + struct.pack(">H", len(self.id)) + self.id + cose
        flags = PRESENT | VERIFIED | HAS_CREDENTIAL
        data = self._describe(asked["rp"]["id"], flags, 0) + made
        attestation = cbor.encode({"fmt": "none", "attStmt": {}, "authData": data})
        parts = {
            "clientDataJSON": websafe_encode(self._client_data("webauthn.create", asked["challenge"])),
            "attestationObject": websafe_encode(attestation),
        }
        return {**self._frame(), "response": parts, **changes}

    def use(
        self,
        options: dict[str, Any],
        *,
        origin: str = "https://localhost",
        flags: int = PRESENT | VERIFIED,
        counter: int = 0,
        handle: str | None = None,
        extra: bytes = b"",
    ) -> dict[str, Any]:
        """Return what a browser sends for a passkey that is used."""
        asked = options["publicKey"]
        client_data = self._client_data("webauthn.get", asked["challenge"], origin)
        data = self._describe(asked.get("rpId", "localhost"), flags, counter) + extra
        signature = self.key.sign(data + hashlib.sha256(client_data).digest(), ec.ECDSA(hashes.SHA256()))
        parts = {
            "clientDataJSON": websafe_encode(client_data),
            "authenticatorData": websafe_encode(data),
            "signature": websafe_encode(signature),
            "userHandle": self.handle if handle is None else handle,
        }
        return {**self._frame(), "response": parts}

    def _frame(self) -> dict[str, Any]:
        name = websafe_encode(self.id)
        return {"id": name, "rawId": name, "type": "public-key", "clientExtensionResults": {}}

    @staticmethod
    def _client_data(kind: str, challenge: str, origin: str = "https://localhost") -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": origin, "crossOrigin": False}).encode()

    @staticmethod
    def _describe(host: str, flags: int, counter: int) -> bytes:
        return hashlib.sha256(host.encode()).digest() + struct.pack(">BI", flags, counter)

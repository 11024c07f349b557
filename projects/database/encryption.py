"""Secrets that the site has to read again: encrypted in the database with a key derived from SECRET_KEY."""

import base64
from typing import TYPE_CHECKING

from django.conf import settings
from django.utils.crypto import salted_hmac

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet


def encrypt(text: str, *, salt: str, purpose: str) -> str:
    return _make_cipher(salt, purpose).encrypt(text.encode()).decode()


def decrypt(encrypted: str, *, salt: str, purpose: str) -> str:
    """Return the secret. Raises InvalidToken if SECRET_KEY has changed since it was stored."""
    return _make_cipher(salt, purpose).decrypt(encrypted.encode()).decode()


def _make_cipher(salt: str, purpose: str) -> "MultiFernet":
    from cryptography.fernet import Fernet, MultiFernet

    secrets = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    digests = [salted_hmac(salt, purpose, secret=each, algorithm="sha256").digest() for each in secrets]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])

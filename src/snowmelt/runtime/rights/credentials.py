"""Passwords, public keys and access tokens: how they are kept and compared."""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from functools import cache

from snowmelt.core import errors
from snowmelt.core.lazy import lazy_imports

with lazy_imports():
    import argon2
    from cryptography import exceptions
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

_SMALLEST_PASSWORD = 8
_SMALLEST_KEY = 2048
TOKEN_PREFIX = "snowmelt_pat_"
"""Tells tokens from passwords, and lets secret scanners find them."""


@cache
def _hasher() -> argon2.PasswordHasher:
    """argon2id with the library's defaults, which follow RFC 9106."""
    return argon2.PasswordHasher()


def hash_password(password: str) -> str:
    if len(password) < _SMALLEST_PASSWORD:
        raise errors.SnowmeltError(
            "003002", "28P01", "The password does not comply with the policy: it is too short.",
            hint=f"Use at least {_SMALLEST_PASSWORD} characters.",
        )  # fmt: skip
    return _hasher().hash(password)


def is_password(password: str, password_hash: str | None) -> bool:
    """Takes the same time whether or not there is a password to compare with."""
    try:
        _hasher().verify(password_hash or _no_password(), password)
        return password_hash is not None
    except (argon2.exceptions.Argon2Error, argon2.exceptions.InvalidHashError):
        return False


@cache
def _no_password() -> str:
    return _hasher().hash(secrets.token_urlsafe(32))


def public_key(text: str) -> str:
    """The key as it is kept: the base64 of its DER encoding. Raises for what is no RSA public key."""
    body = "".join(line for line in text.strip().splitlines() if not line.startswith("-----"))
    try:
        key = serialization.load_der_public_key(base64.b64decode(body, validate=True))
    except (ValueError, binascii.Error, exceptions.UnsupportedAlgorithm):
        key = None
    if not isinstance(key, rsa.RSAPublicKey) or key.key_size < _SMALLEST_KEY:
        raise errors.SnowmeltError(
            "390199", "22023", "New public key rejected by current policy. Reason: 'Invalid public key'.",
            hint=f"Give an RSA public key of at least {_SMALLEST_KEY} bits in PEM form.",
        )  # fmt: skip
    return base64.b64encode(_der(key)).decode("ascii")


def loaded_key(kept: str) -> rsa.RSAPublicKey:
    key = serialization.load_der_public_key(base64.b64decode(kept))
    assert isinstance(key, rsa.RSAPublicKey)
    return key


def fingerprint(kept: str) -> str:
    """The key's fingerprint, as in a token's issuer and DESCRIBE USER: `SHA256:` and the base64 of the digest."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(base64.b64decode(kept)).digest()).decode("ascii")


def _der(key: rsa.RSAPublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def new_token() -> str:
    return TOKEN_PREFIX + secrets.token_urlsafe(48)


def token_hash(token: str) -> str:
    """A fast hash is enough: a token has far too many random bits to be guessed."""
    return hashlib.sha256(token.encode()).hexdigest()

"""What a session was opened with. It lasts as long as that does: the user, the password, the key or the token."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from snowmelt.runtime.rights import credentials
from snowmelt.state.access_model import AccessToken, User
from snowmelt.state.store import StateReader

Means = Literal["PASSWORD", "RSA_KEYPAIR", "PROGRAMMATIC_ACCESS_TOKEN"]


@dataclass(frozen=True, slots=True)
class Grounds:
    """How a user proved who it is. Holds digests alone."""

    means: Means
    user_since: datetime
    """When the user was created: another one of the same name is another user."""
    secret: str
    """The password's hash hashed once more, the key's fingerprint, or the token's digest."""
    expires: datetime | None = None
    """When a token ends by itself."""


def by_password(user: User) -> Grounds:
    return Grounds("PASSWORD", user.created_on, password_digest(user))


def by_key(user: User, fingerprint: str) -> Grounds:
    return Grounds("RSA_KEYPAIR", user.created_on, fingerprint)


def by_token(user: User, token: AccessToken) -> Grounds:
    return Grounds("PROGRAMMATIC_ACCESS_TOKEN", user.created_on, token.token_hash, token.expires_at)


def password_digest(user: User) -> str:
    return credentials.token_hash(user.password_hash or "")


def stand(state: StateReader, user_name: str, grounds: Grounds) -> bool:
    """Whether the user could still log in like that, but for the time."""
    user = state.access.user(user_name)
    if user is None or user.disabled or user.created_on != grounds.user_since:
        return False
    match grounds.means:
        case "PASSWORD":
            return grounds.secret == password_digest(user)
        case "RSA_KEYPAIR":
            keys = (user.rsa_public_key, user.rsa_public_key_2)
            return any(key is not None and credentials.fingerprint(key) == grounds.secret for key in keys)
        case _:
            token = state.access.token_of_hash(grounds.secret)
            return token is not None and token.user == user_name and not token.disabled

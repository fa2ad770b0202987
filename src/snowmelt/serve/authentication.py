"""Who a client is. The login endpoint asks one function; what stands behind it may change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from snowmelt.core.errors import SnowmeltError
from snowmelt.serve.credentials import ADMIN, Credentials


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """What a client says of itself. Secrets are left out where it is printed."""

    user: str
    authenticator: str = "SNOWFLAKE"
    """SNOWFLAKE: a password. SNOWFLAKE_JWT: a token signed with the user's key. PROGRAMMATIC_ACCESS_TOKEN, OAUTH."""
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    role: str | None = None
    """The role that the client asks for, folded as an identifier."""
    client: str = ""
    address: str = ""
    """Where the client connects from."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A user whom the server believes, and what a session starts with when the client does not say."""

    user: str
    role: str | None = None
    database: str | None = None
    schema: str | None = None
    warehouse: str | None = None


class Authenticator(Protocol):
    """Checks logins. Called from a worker thread: it may take its time."""

    def login(self, attempt: LoginAttempt) -> Identity:
        """Who it is. Raises `incorrect_login` or another SnowmeltError, never saying which part was wrong."""
        ...


def incorrect_login() -> SnowmeltError:
    return SnowmeltError("390100", "08001", "Incorrect username or password was specified.")


class AdminAuthenticator:
    """The one user that every server has, by its password."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    def login(self, attempt: LoginAttempt) -> Identity:
        # A programmatic access token comes in the password's place in tools that know of passwords only.
        secret = attempt.password or attempt.token or ""
        if not self._credentials.accepts_password(attempt.user, secret):
            raise incorrect_login()
        return Identity(ADMIN.upper(), attempt.role)

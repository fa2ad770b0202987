"""Who a command is at a server: a user with a password, a token or a key, from options and the environment."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from snowmelt.cli.output import is_interactive
from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.lazy import lazy_imports

with lazy_imports():
    import jwt
    from cryptography.hazmat.primitives import serialization

    from snowmelt.runtime.rights import credentials

ADMIN = "admin"
_JWT_LASTS = timedelta(minutes=30)
_INCORRECT = "390100"

UserOption = Annotated[
    str | None, typer.Option("--user", "-u", help="User at the server: admin by default.", envvar="SNOWMELT_USER")
]
TokenOption = Annotated[
    Path | None, typer.Option(help="File with an access token (SNOWMELT_TOKEN holds one itself). For --url.")
]
KeyOption = Annotated[
    Path | None,
    typer.Option(help="File with the user's private key (PEM). SNOWMELT_PRIVATE_KEY_PASSPHRASE opens it. For --url."),
]


@dataclass(frozen=True, slots=True)
class LogIn:
    """What was said of the user. Secrets come from files and the environment: arguments of a program are public."""

    user: str | None = None
    token_file: Path | None = None
    private_key: Path | None = None

    @property
    def is_said(self) -> bool:
        return any((self.user, self.token_file, self.private_key))

    def credentials(self, url: str) -> dict[str, str]:
        """What the server is sent, or a message that says which secret is missing."""
        user = self.user or ADMIN
        if self.private_key is not None:
            return {"user": user, "jwt": _signed(user, self.private_key)}
        token = _read(self.token_file).decode() if self.token_file is not None else os.environ.get("SNOWMELT_TOKEN")
        if token:
            return {"user": self.user or "", "token": token.strip()}
        return {"user": user, "password": _password(user, url)}


def tell_whose(error: SnowmeltError, sent: dict[str, str], url: str) -> SnowmeltError:
    """The same error, with whose log-in it was. The server itself never says what was wrong: only its caller knows."""
    if error.code != _INCORRECT or "password" not in sent:
        return error
    where = " or ".join(_variables(sent["user"]))
    message = f"The server at {url} refused the password of {sent['user']}. It came from {where}, or was typed."
    return SnowmeltError(error.code, error.sqlstate, message)


def _variables(user: str) -> tuple[str, ...]:
    return ("SNOWMELT_PASSWORD", "SNOWMELT_ADMIN_PASSWORD") if user.lower() == ADMIN else ("SNOWMELT_PASSWORD",)


def _password(user: str, url: str) -> str:
    for variable in _variables(user):
        if found := os.environ.get(variable):
            return found
    if is_interactive():
        return str(typer.prompt(f"Password of {user} at {url}", hide_input=True, err=True))
    ways = f"set {' or '.join(_variables(user))}, set SNOWMELT_TOKEN, or name a key with --private-key"
    raise errors.configuration(f"There is no password for {user} at {url}: {ways}.")


def _signed(user: str, file: Path) -> str:
    """A token as Snowflake's drivers make them, which says who has the key that belongs to the user."""
    passphrase = os.environ.get("SNOWMELT_PRIVATE_KEY_PASSPHRASE")
    text = _read(file)
    try:
        key = serialization.load_pem_private_key(text, passphrase.encode() if passphrase else None)
        der, format_ = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        public = key.public_key().public_bytes(der, format_)
    except (ValueError, TypeError):
        locked = b"ENCRYPTED" in text
        why = "SNOWMELT_PRIVATE_KEY_PASSPHRASE is missing or wrong" if locked else "it is not a private key in PEM form"
        raise errors.configuration(f"The private key in {file} can't be used: {why}.") from None
    subject = f"SNOWMELT.{user.upper()}"
    now = datetime.now(UTC)
    issuer = f"{subject}.{credentials.fingerprint(base64.b64encode(public).decode())}"
    claims = {"iss": issuer, "sub": subject, "iat": now, "exp": now + _JWT_LASTS}
    return jwt.encode(claims, key, algorithm="RS256")  # type: ignore[arg-type]


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise errors.configuration(f"{file} can't be read: {error.strerror}.") from None

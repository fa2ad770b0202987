"""Who may talk to the server: the administrator's password, and a token for the data directory's own user."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

_PASSWORD_FILE = "admin.password"
_TOKEN_FILE = "owner.token"
ADMIN = "admin"
PASSWORD_VARIABLE = "SNOWMELT_ADMIN_PASSWORD"
_ROUNDS = {"n": 2**14, "r": 8, "p": 1}


@dataclass(frozen=True, slots=True)
class Credentials:
    """Kept as salted hashes; the clear password is known to its owner alone."""

    salt: bytes
    password_hash: bytes
    local_token: str
    """Lets `snowmelt sql --data DIR` through: whoever can read the data directory owns the data anyway."""

    def accepts_password(self, user: str, password: str) -> bool:
        same = hmac.compare_digest(_hash(password, self.salt), self.password_hash)
        return same and user.lower() == ADMIN

    def accepts_token(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self.local_token.encode())


def load_credentials(data_dir: Path, password: str | None = None) -> tuple[Credentials, str | None]:
    """The credentials, and the password in clear if it was made just now and must be shown once."""
    given = password or os.environ.get(PASSWORD_VARIABLE)
    path = data_dir / _PASSWORD_FILE
    made: str | None = None
    if given:
        _write_private(path, _encoded(given))
    elif not path.exists():
        made = secrets.token_urlsafe(18)
        _write_private(path, _encoded(made))
    salt, password_hash = (bytes.fromhex(part) for part in path.read_text(encoding="ascii").split(":"))
    token = secrets.token_urlsafe(32)
    _write_private(data_dir / _TOKEN_FILE, token)
    return Credentials(salt, password_hash, token), made


def read_local_token(data_dir: Path) -> str | None:
    try:
        return (data_dir / _TOKEN_FILE).read_text(encoding="ascii").strip()
    except OSError:
        return None


def _encoded(password: str) -> str:
    salt = secrets.token_bytes(16)
    return f"{salt.hex()}:{_hash(password, salt).hex()}"


def _hash(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=_ROUNDS["n"], r=_ROUNDS["r"], p=_ROUNDS["p"])


def _write_private(path: Path, text: str) -> None:
    draft = path.with_name(path.name + ".tmp")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as handle:
        handle.write(text)
    draft.replace(path)

"""Errors of logging in and of rights."""

from __future__ import annotations

from snowmelt.core.errors import SnowmeltError, compilation


def taken_by_hidden(kind: str, name: str) -> SnowmeltError:
    """The one thing that a role learns of what it may not know of: that the name is not free."""
    return compilation(
        "003041", "42710", f"{kind} '{name}' already exists, but current role has no privileges on it.",
        hint="Choose another name, or ask its owner, or who has ACCOUNTADMIN, for a privilege on it.",
    )  # fmt: skip


def task_owner_lacks_privilege(kind: str = "TASK") -> SnowmeltError:
    """`kind`: TASK or ALERT."""
    return SnowmeltError(
        "091089", "42501",
        f"Cannot execute {kind.lower()}, EXECUTE {kind} privilege must be granted to owner role",
        hint=f"GRANT EXECUTE {kind} ON ACCOUNT TO ROLE <the {kind.lower()}'s owner>.",
    )  # fmt: skip


def password_must_change() -> SnowmeltError:
    return SnowmeltError(
        "390106", "08004", "Specified password has expired. It must be changed before you can log in with it.",
        hint="Log in with a client that asks for a new one, or have it set by ALTER USER … SET PASSWORD.",
    )  # fmt: skip


def login_locked() -> SnowmeltError:
    return SnowmeltError(
        "390102", "08004", "User temporarily locked. Try again later, or contact your account administrator."
    )


def invalid_jwt() -> SnowmeltError:
    return SnowmeltError("390144", "08004", "JWT token is invalid.")


def invalid_token() -> SnowmeltError:
    return SnowmeltError("394400", "08004", "Programmatic access token is invalid.")


def session_gone() -> SnowmeltError:
    return SnowmeltError("390111", "08003", "The session no longer exists. New login required.")

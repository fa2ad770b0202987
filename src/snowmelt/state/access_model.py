"""Who may do what: users, roles, privileges, tokens, and what happened with them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from snowmelt.state.record import Record


class Role(Record):
    name: str
    owner: str
    """A role; empty for the roles that every account has."""
    comment: str | None = None
    created_on: datetime


class NetworkPolicy(Record):
    """From which addresses clients may come: IPv4 or IPv6 addresses, or ranges of them."""

    name: str
    owner: str
    allowed: tuple[str, ...] = ()
    """Empty for all."""
    blocked: tuple[str, ...] = ()
    """Counts more than what is allowed."""
    comment: str | None = None
    created_on: datetime


class User(Record):
    """Secrets are kept as hashes, or are public keys. Nothing shows them, not even to their owner."""

    name: str
    login_name: str
    owner: str
    display_name: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    comment: str | None = None
    type: str = "PERSON"
    disabled: bool = False
    must_change_password: bool = False
    password_hash: str | None = None
    password_changed_on: datetime | None = None
    rsa_public_key: str | None = None
    """Base64 of the DER encoding, without the PEM's frame."""
    rsa_public_key_2: str | None = None
    default_role: str | None = None
    default_secondary_roles: tuple[str, ...] = ("ALL",)
    default_warehouse: str | None = None
    default_namespace: str | None = None
    network_policy: str | None = None
    """Counts in place of the account's."""
    failed_logins: int = 0
    """In a row."""
    locked_until: datetime | None = None
    last_login: datetime | None = None
    created_on: datetime


class AccessToken(Record):
    """A programmatic access token; the token itself was shown once and is not kept."""

    id: str
    user: str
    name: str
    token_hash: str
    role_restriction: str | None = None
    expires_at: datetime
    disabled: bool = False
    comment: str | None = None
    created_by: str
    created_on: datetime


class GranteeKind(StrEnum):
    ROLE = "ROLE"
    USER = "USER"


class Grant(Record):
    """A privilege on something. A role that was granted is the privilege USAGE on it."""

    privilege: str
    on_kind: str
    """ACCOUNT, ROLE, USER, WAREHOUSE, DATABASE, SCHEMA, TABLE, DYNAMIC TABLE, …"""
    on_id: str
    """The object's id; for a role or user its name; empty for the account."""
    grantee_kind: GranteeKind
    grantee: str
    grant_option: bool = False
    granted_by: str
    created_on: datetime


class FutureGrant(Record):
    """A privilege that objects of a kind get when they are created in a database or schema."""

    privilege: str
    on_kind: str
    container_id: str
    grantee: str
    """A role."""
    grant_option: bool = False
    granted_by: str
    created_on: datetime


class AuditEvent(Record):
    """One login, change of rights, or denial."""

    id: str
    at: datetime
    kind: Literal["LOGIN", "GRANT", "REVOKE", "USER", "ROLE", "TOKEN", "NETWORK POLICY", "DENIED"]
    user: str
    role: str | None = None
    succeeded: bool = True
    object: str | None = None
    """What it was about, in words: `TABLE DB.S.T`, …"""
    detail: str | None = None
    """The privilege, the means of logging in, …; never a secret."""
    error_code: str | None = None
    error_message: str | None = None
    client: str | None = None
    """The address a login came from."""
    query_id: str | None = None

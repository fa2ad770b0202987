"""Which privileges there are, and which ones a statement asks for. Tests and the reference are made of these tables."""

from __future__ import annotations

from functools import lru_cache

from snowmelt.runtime.kinds import Kinds, all_kinds
from snowmelt.runtime.rights import asks
from snowmelt.runtime.rights.asks import WAREHOUSE_USAGE, Ask, Subject, ask, ask_creator, ask_owner

OWNERSHIP = asks.OWNERSHIP
MANAGE_GRANTS = "MANAGE GRANTS"
EVOLVING = ("EVOLVE SCHEMA", OWNERSHIP)
"""One of them lets rows that are loaded add columns to a table."""
ACCOUNT = "ACCOUNT"

PUBLIC = "PUBLIC"
ACCOUNTADMIN, SYSADMIN, SECURITYADMIN, USERADMIN = "ACCOUNTADMIN", "SYSADMIN", "SECURITYADMIN", "USERADMIN"
SYSTEM_ROLES = {
    ACCOUNTADMIN: "Account administrator can manage all aspects of the account.",
    PUBLIC: "Public role is automatically available to every user in the account.",
    SECURITYADMIN: "Security administrator can manage security aspects of the account.",
    SYSADMIN: "System administrator can create and manage databases and warehouses.",
    USERADMIN: "User administrator can create and manage users and roles",
}
"""The roles that every account has, with their comments. Nobody can drop or rename them."""
HIERARCHY = ((SYSADMIN, ACCOUNTADMIN), (SECURITYADMIN, ACCOUNTADMIN), (USERADMIN, SECURITYADMIN))
"""Which of them is granted to which."""

_ACCOUNT_PRIVILEGES = {
    "CREATE DATABASE": SYSADMIN,
    "CREATE INTEGRATION": ACCOUNTADMIN,
    "CREATE ROLE": USERADMIN,
    "CREATE USER": USERADMIN,
    "CREATE WAREHOUSE": SYSADMIN,
    "MANAGE ACCOUNT": ACCOUNTADMIN,
    MANAGE_GRANTS: SECURITYADMIN,
    "MONITOR EXECUTION": ACCOUNTADMIN,
    "MONITOR SECURITY": SECURITYADMIN,
    "MONITOR USAGE": ACCOUNTADMIN,
}


def account_privileges() -> dict[str, str]:
    """Privileges on the account, and which role has them from the start."""
    own = {right: role for kind in all_kinds().descriptions for right, role in kind.account_privileges.items()}
    return dict(sorted((_ACCOUNT_PRIVILEGES | own).items()))


_CREATES = (
    "CREATE TABLE", "CREATE VIEW", "CREATE DYNAMIC TABLE",
)  # fmt: skip
_MORE_CREATES = (
    "CREATE SEQUENCE", "CREATE FUNCTION", "CREATE PROCEDURE",
)  # fmt: skip
_PRIVILEGES: dict[str, tuple[str, ...]] = {
    "DATABASE": ("USAGE", "MONITOR", "MODIFY", "CREATE SCHEMA"),
    "SCHEMA": ("USAGE", "MONITOR", "MODIFY"),
    "TABLE": ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "EVOLVE SCHEMA"),
    "DYNAMIC TABLE": ("SELECT", "OPERATE", "MONITOR"),
    "VIEW": ("SELECT", "REFERENCES"),
    "WAREHOUSE": ("USAGE", "OPERATE", "MODIFY", "MONITOR"),
    "FUNCTION": ("USAGE",),
    "PROCEDURE": ("USAGE",),
    "SEQUENCE": ("USAGE",),
    "USER": ("MONITOR",),
    "ROLE": (),
}


def privileges() -> dict[str, tuple[str, ...]]:
    """What can be granted on each kind, besides OWNERSHIP."""
    creates = (*_CREATES, *(f"CREATE {kind.name}" for kind in all_kinds().descriptions), *_MORE_CREATES)
    own = {kind.name.value: kind.privileges for kind in all_kinds().descriptions}
    account = {ACCOUNT: tuple(account_privileges())}
    return account | _PRIVILEGES | {"SCHEMA": (*_PRIVILEGES["SCHEMA"], *creates)} | own


def _ask_renamer(kind: str) -> tuple[Ask, ...]:
    return ask_owner(ask(Subject.SCHEMA, f"CREATE {kind}"))


_READS = ask(Subject.TARGET, "SELECT")

_RENAMED = (
    "TABLE", "VIEW", "DYNAMIC TABLE", "SEQUENCE", "FUNCTION", "PROCEDURE",
)  # fmt: skip
"""What can be moved to another schema by renaming it."""

_RULES: dict[str, tuple[Ask, ...]] = {
    # Rows. What a query reads asks for SELECT where its names are resolved.
    "INSERT": (ask(Subject.TARGET, "INSERT"),),
    "INSERT OVERWRITE": (ask(Subject.TARGET, "INSERT"), ask(Subject.TARGET, "DELETE")),
    "UPDATE": (ask(Subject.TARGET, "UPDATE"), _READS),
    "DELETE": (ask(Subject.TARGET, "DELETE"), _READS),
    "MERGE INSERT": (ask(Subject.TARGET, "INSERT"), _READS),
    "MERGE UPDATE": (ask(Subject.TARGET, "UPDATE"), _READS),
    "MERGE DELETE": (ask(Subject.TARGET, "DELETE"), _READS),
    "TRUNCATE TABLE": (ask(Subject.TARGET, "TRUNCATE"),),
    "COPY INTO LOCATION": (ask(Subject.SOURCE, "SELECT"),),
    # Whatever names a URL, a host, a file or a variable of the server's machine, besides what it asks for otherwise.
    "ADDRESS": (ask(Subject.ACCOUNT, "CREATE INTEGRATION"),),
    # Things in schemas.
    "CREATE TABLE": ask_creator("TABLE"),
    "CREATE TABLE LIKE": ask_creator("TABLE", ask(Subject.SOURCE, "SELECT")),
    "CREATE TABLE CLONE": ask_creator("TABLE", ask(Subject.SOURCE, "SELECT")),
    "CREATE TEMPORARY": (ask(Subject.SCHEMA, "USAGE"), ask(Subject.REPLACED, OWNERSHIP)),
    "CREATE VIEW": ask_creator("VIEW"),
    "CREATE DYNAMIC TABLE": ask_creator("DYNAMIC TABLE", WAREHOUSE_USAGE),
    "CREATE DYNAMIC TABLE CLONE": ask_creator("DYNAMIC TABLE", ask(Subject.SOURCE, "SELECT")),
    "CREATE SEQUENCE": ask_creator("SEQUENCE"),
    "CREATE FUNCTION": ask_creator("FUNCTION"),
    "CREATE PROCEDURE": ask_creator("PROCEDURE"),
    "ALTER TABLE": ask_owner(),
    **{f"ALTER {kind} RENAME": _ask_renamer(kind) for kind in _RENAMED},
    "SWAP": ask_owner(ask(Subject.SOURCE, OWNERSHIP)),
    "ALTER VIEW": ask_owner(),
    "ALTER DYNAMIC TABLE": ask_owner(),
    "ALTER DYNAMIC TABLE OPERATE": (ask(Subject.TARGET, "OPERATE"),),
    "ALTER SEQUENCE": ask_owner(),
    "ALTER FUNCTION": ask_owner(),
    "ALTER PROCEDURE": ask_owner(),
    "DROP": ask_owner(),
    "UNDROP": ask_owner(),
    "COMMENT": ask_owner(),
    "CALL": (ask(Subject.TARGET, "USAGE"),),
    "EXPLAIN DYNAMIC TABLE": (ask(Subject.TARGET, "MONITOR"),),
    # Containers, warehouses, the account.
    "CREATE DATABASE": (ask(Subject.ACCOUNT, "CREATE DATABASE"), ask(Subject.REPLACED, OWNERSHIP)),
    "CREATE DATABASE CLONE": (
        ask(Subject.ACCOUNT, "CREATE DATABASE"), ask(Subject.REPLACED, OWNERSHIP), ask(Subject.SOURCE, OWNERSHIP),
    ),
    "CREATE SCHEMA": (ask(Subject.DATABASE, "CREATE SCHEMA"), ask(Subject.REPLACED, OWNERSHIP)),
    "CREATE SCHEMA CLONE": (
        ask(Subject.DATABASE, "CREATE SCHEMA"), ask(Subject.REPLACED, OWNERSHIP), ask(Subject.SOURCE, OWNERSHIP),
    ),
    "CREATE WAREHOUSE": (ask(Subject.ACCOUNT, "CREATE WAREHOUSE"), ask(Subject.REPLACED, OWNERSHIP)),
    "ALTER DATABASE": (ask(Subject.TARGET, "MODIFY"),),
    "ALTER DATABASE RENAME": ask_owner(ask(Subject.ACCOUNT, "CREATE DATABASE")),
    "ALTER SCHEMA": (ask(Subject.TARGET, "MODIFY"),),
    "ALTER SCHEMA RENAME": ask_owner(ask(Subject.DATABASE, "CREATE SCHEMA")),
    "COMMENT ON CONTAINER": (ask(Subject.TARGET, "MODIFY"),),
    "ALTER WAREHOUSE": (ask(Subject.TARGET, "MODIFY"),),
    "ALTER WAREHOUSE OPERATE": (ask(Subject.TARGET, "OPERATE"),),
    "ALTER WAREHOUSE RENAME": ask_owner(),
    "ALTER ACCOUNT": (ask(Subject.ACCOUNT, "MANAGE ACCOUNT"),),
    # Users and roles.
    "CREATE USER": (ask(Subject.ACCOUNT, "CREATE USER"), ask(Subject.REPLACED, OWNERSHIP)),
    "CREATE ROLE": (ask(Subject.ACCOUNT, "CREATE ROLE"), ask(Subject.REPLACED, OWNERSHIP)),
    "ALTER USER": ask_owner(),
    "ALTER ROLE": ask_owner(),
}  # fmt: skip


def rules() -> dict[str, tuple[Ask, ...]]:
    """What each kind of statement asks for. One that is not here asks for nothing by itself."""
    return _rules(all_kinds())


@lru_cache(maxsize=1)
def _rules(kinds: Kinds) -> dict[str, tuple[Ask, ...]]:
    """Every statement looks into them, so they are joined once."""
    renamed = [kind.name for kind in kinds.descriptions if kind.is_renamed]
    return _RULES | kinds.rules | {f"ALTER {kind} RENAME": _ask_renamer(kind) for kind in renamed}

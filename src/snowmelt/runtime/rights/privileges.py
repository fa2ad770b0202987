"""Which privileges there are, and which ones a statement asks for. Tests and the reference are made of these tables."""

from __future__ import annotations

from functools import lru_cache

from snowmelt.runtime.kinds import Kinds, all_kinds
from snowmelt.runtime.rights import asks
from snowmelt.runtime.rights.asks import Ask, Subject, ask, ask_creator, ask_owner

OWNERSHIP = asks.OWNERSHIP
MANAGE_GRANTS = "MANAGE GRANTS"
EVOLVING = ("EVOLVE SCHEMA", OWNERSHIP)
"""One of them lets rows that are loaded add columns to a table."""
ACCOUNT = "ACCOUNT"

PUBLIC = "PUBLIC"
IMPORTED_PRIVILEGES = "IMPORTED PRIVILEGES"
"""On the database SNOWFLAKE in Snowflake, which is the account here: to see how all of it is used."""
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
    "CREATE WAREHOUSE": SYSADMIN,
    "MANAGE ACCOUNT": ACCOUNTADMIN,
    MANAGE_GRANTS: SECURITYADMIN,
    "MONITOR EXECUTION": ACCOUNTADMIN,
    "MONITOR SECURITY": SECURITYADMIN,
    "MONITOR USAGE": ACCOUNTADMIN,
}


def account_privileges() -> dict[str, str]:
    """Privileges on the account, and which role has them from the start."""
    own = {right: role for kind in all_kinds().all for right, role in kind.account_privileges.items()}
    return dict(sorted((_ACCOUNT_PRIVILEGES | own).items()))


_IN_SCHEMAS = ("TABLE", "VIEW", "SEQUENCE")
"""What schemas hold, and what can be moved to another one by renaming it, besides what features describe."""
_PRIVILEGES: dict[str, tuple[str, ...]] = {
    "DATABASE": ("USAGE", "MONITOR", "MODIFY", "CREATE SCHEMA"),
    "SCHEMA": ("USAGE", "MONITOR", "MODIFY"),
    "TABLE": ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "EVOLVE SCHEMA"),
    "VIEW": ("SELECT", "REFERENCES"),
    "WAREHOUSE": ("USAGE", "OPERATE", "MODIFY", "MONITOR"),
    "SEQUENCE": ("USAGE",),
}


def privileges() -> dict[str, tuple[str, ...]]:
    """What can be granted on each kind, besides OWNERSHIP."""
    known = all_kinds()
    in_schemas = (*_IN_SCHEMAS, *(kind.name for kind in known.all if kind.name not in known.of_account))
    creates = tuple(f"CREATE {kind}" for kind in in_schemas)
    own = {kind.name.value: kind.privileges for kind in known.all}
    account = {ACCOUNT: tuple(account_privileges())}
    return account | _PRIVILEGES | {"SCHEMA": (*_PRIVILEGES["SCHEMA"], *creates)} | own


def _ask_renamer(kind: str) -> tuple[Ask, ...]:
    return ask_owner(ask(Subject.SCHEMA, f"CREATE {kind}"))


_READS = ask(Subject.TARGET, "SELECT")

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
    "CREATE SEQUENCE": ask_creator("SEQUENCE"),
    "ALTER TABLE": ask_owner(),
    **{f"ALTER {kind} RENAME": _ask_renamer(kind) for kind in _IN_SCHEMAS},
    "SWAP": ask_owner(ask(Subject.SOURCE, OWNERSHIP)),
    "ALTER VIEW": ask_owner(),
    "ALTER SEQUENCE": ask_owner(),
    "DROP": ask_owner(),
    "UNDROP": ask_owner(),
    "COMMENT": ask_owner(),
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
}  # fmt: skip


def rules() -> dict[str, tuple[Ask, ...]]:
    """What each kind of statement asks for. One that is not here asks for nothing by itself."""
    return _rules(all_kinds())


@lru_cache(maxsize=1)
def _rules(kinds: Kinds) -> dict[str, tuple[Ask, ...]]:
    """Every statement looks into them, so they are joined once."""
    renamed = [kind.name for kind in kinds.all if kind.is_renamed]
    return _RULES | kinds.rules | {f"ALTER {kind} RENAME": _ask_renamer(kind) for kind in renamed}

"""Which privileges there are, and which ones a statement asks for. Tests and the reference are made of these tables."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

OWNERSHIP = "OWNERSHIP"
MANAGE_GRANTS = "MANAGE GRANTS"
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

ACCOUNT_PRIVILEGES = {
    "CREATE DATABASE": SYSADMIN,
    "CREATE INTEGRATION": ACCOUNTADMIN,
    "CREATE ROLE": USERADMIN,
    "CREATE USER": USERADMIN,
    "CREATE WAREHOUSE": SYSADMIN,
    "EXECUTE ALERT": ACCOUNTADMIN,
    "EXECUTE MANAGED TASK": ACCOUNTADMIN,
    "EXECUTE TASK": ACCOUNTADMIN,
    "MANAGE ACCOUNT": ACCOUNTADMIN,
    MANAGE_GRANTS: SECURITYADMIN,
    "MONITOR EXECUTION": ACCOUNTADMIN,
    "MONITOR SECURITY": SECURITYADMIN,
    "MONITOR USAGE": ACCOUNTADMIN,
}
"""Privileges on the account, and which role has them from the start."""

_CREATES = (
    "CREATE TABLE", "CREATE VIEW", "CREATE DYNAMIC TABLE", "CREATE STREAM", "CREATE TASK", "CREATE CONNECTOR",
    "CREATE CONTRACT", "CREATE DATA PRODUCT", "CREATE ALERT", "CREATE TAG",
    "CREATE STAGE", "CREATE FILE FORMAT", "CREATE SEQUENCE", "CREATE FUNCTION", "CREATE PROCEDURE",
)  # fmt: skip
PRIVILEGES: dict[str, tuple[str, ...]] = {
    ACCOUNT: tuple(ACCOUNT_PRIVILEGES),
    "DATABASE": ("USAGE", "MONITOR", "MODIFY", "CREATE SCHEMA"),
    "SCHEMA": ("USAGE", "MONITOR", "MODIFY", *_CREATES),
    "TABLE": ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "EVOLVE SCHEMA"),
    "DYNAMIC TABLE": ("SELECT", "OPERATE", "MONITOR"),
    "VIEW": ("SELECT", "REFERENCES"),
    "STREAM": ("SELECT",),
    "TASK": ("OPERATE", "MONITOR"),
    "ALERT": ("OPERATE", "MONITOR"),
    "CONNECTOR": ("OPERATE", "MONITOR"),
    "CONTRACT": ("USAGE", "APPLY"),
    "DATA PRODUCT": ("USAGE",),
    "TAG": ("APPLY", "READ"),
    "WAREHOUSE": ("USAGE", "OPERATE", "MODIFY", "MONITOR"),
    "FUNCTION": ("USAGE",),
    "PROCEDURE": ("USAGE",),
    "STAGE": ("READ", "WRITE", "USAGE"),
    "FILE FORMAT": ("USAGE",),
    "SEQUENCE": ("USAGE",),
    "USER": ("MONITOR",),
    "ROLE": (),
}
"""What can be granted on each kind, besides OWNERSHIP."""


class Subject(StrEnum):
    """What of a statement a privilege is asked for on."""

    ACCOUNT = "the account"
    DATABASE = "the database"
    SCHEMA = "the schema"
    TARGET = "the object"
    REPLACED = "the object it replaces, if any"
    SOURCE = "its source"
    WAREHOUSE = "its warehouse"


@dataclass(frozen=True, slots=True)
class Ask:
    """Any one of the privileges will do, and so will ownership of the subject."""

    subject: Subject
    privileges: tuple[str, ...]


def _ask(subject: Subject, *privileges: str) -> Ask:
    return Ask(subject, privileges)


def _owner(*more: Ask) -> tuple[Ask, ...]:
    return (_ask(Subject.TARGET, OWNERSHIP), *more)


def _create(kind: str, *more: Ask) -> tuple[Ask, ...]:
    return (_ask(Subject.SCHEMA, f"CREATE {kind}"), _ask(Subject.REPLACED, OWNERSHIP), *more)


_WAREHOUSE = _ask(Subject.WAREHOUSE, "USAGE")
_READS = _ask(Subject.TARGET, "SELECT")

_RENAMED = (
    "TABLE", "VIEW", "DYNAMIC TABLE", "STAGE", "FILE FORMAT", "SEQUENCE", "FUNCTION", "PROCEDURE", "CONTRACT",
    "DATA PRODUCT", "TAG",
)  # fmt: skip
"""What can be moved to another schema by renaming it."""

RULES: dict[str, tuple[Ask, ...]] = {
    # Rows. What a query reads asks for SELECT where its names are resolved.
    "INSERT": (_ask(Subject.TARGET, "INSERT"),),
    "INSERT OVERWRITE": (_ask(Subject.TARGET, "INSERT"), _ask(Subject.TARGET, "DELETE")),
    "UPDATE": (_ask(Subject.TARGET, "UPDATE"), _READS),
    "DELETE": (_ask(Subject.TARGET, "DELETE"), _READS),
    "MERGE INSERT": (_ask(Subject.TARGET, "INSERT"), _READS),
    "MERGE UPDATE": (_ask(Subject.TARGET, "UPDATE"), _READS),
    "MERGE DELETE": (_ask(Subject.TARGET, "DELETE"), _READS),
    "TRUNCATE TABLE": (_ask(Subject.TARGET, "TRUNCATE"),),
    "COPY INTO TABLE": (_ask(Subject.TARGET, "INSERT"),),
    "COPY INTO LOCATION": (_ask(Subject.SOURCE, "SELECT"),),
    # Things in schemas.
    "CREATE TABLE": _create("TABLE"),
    "CREATE TABLE LIKE": _create("TABLE", _ask(Subject.SOURCE, "SELECT")),
    "CREATE TABLE CLONE": _create("TABLE", _ask(Subject.SOURCE, "SELECT")),
    "CREATE TEMPORARY": (_ask(Subject.SCHEMA, "USAGE"), _ask(Subject.REPLACED, OWNERSHIP)),
    "CREATE VIEW": _create("VIEW"),
    "CREATE DYNAMIC TABLE": _create("DYNAMIC TABLE", _WAREHOUSE),
    "CREATE DYNAMIC TABLE CLONE": _create("DYNAMIC TABLE", _ask(Subject.SOURCE, "SELECT")),
    "CREATE STREAM": _create("STREAM", _ask(Subject.SOURCE, "SELECT")),
    "CREATE TASK": _create("TASK", _WAREHOUSE),
    "CREATE TASK CLONE": _create("TASK", _ask(Subject.SOURCE, OWNERSHIP)),
    "CREATE ALERT": _create("ALERT", _WAREHOUSE),
    "CREATE ALERT CLONE": _create("ALERT", _ask(Subject.SOURCE, OWNERSHIP)),
    "CREATE CONNECTOR": _create("CONNECTOR", _ask(Subject.ACCOUNT, "CREATE INTEGRATION")),
    "CREATE CONTRACT": _create("CONTRACT"),
    "CREATE CONTRACT FROM TABLE": _create("CONTRACT", _ask(Subject.SOURCE, "SELECT", "REFERENCES")),
    "CREATE DATA PRODUCT": _create("DATA PRODUCT"),
    "CREATE TAG": _create("TAG"),
    "CREATE STAGE": _create("STAGE"),
    "CREATE FILE FORMAT": _create("FILE FORMAT"),
    "CREATE SEQUENCE": _create("SEQUENCE"),
    "CREATE FUNCTION": _create("FUNCTION"),
    "CREATE PROCEDURE": _create("PROCEDURE"),
    "CREATE STAGE URL": _create("STAGE", _ask(Subject.ACCOUNT, "CREATE INTEGRATION")),
    "ALTER TABLE": _owner(),
    **{f"ALTER {kind} RENAME": _owner(_ask(Subject.SCHEMA, f"CREATE {kind}")) for kind in _RENAMED},
    "SWAP": _owner(_ask(Subject.SOURCE, OWNERSHIP)),
    "ALTER VIEW": _owner(),
    "ALTER DYNAMIC TABLE": _owner(),
    "ALTER DYNAMIC TABLE OPERATE": (_ask(Subject.TARGET, "OPERATE"),),
    "ALTER STREAM": _owner(),
    "ALTER TASK": _owner(),
    "ALTER TASK OPERATE": (_ask(Subject.TARGET, "OPERATE"),),
    "ALTER ALERT": _owner(),
    "ALTER ALERT OPERATE": (_ask(Subject.TARGET, "OPERATE"),),
    "EXECUTE ALERT": (_ask(Subject.TARGET, "OPERATE"),),
    "ALTER CONNECTOR": _owner(),
    "ALTER CONNECTOR OPERATE": (_ask(Subject.TARGET, "OPERATE"),),
    "CHECK CONNECTOR": (_ask(Subject.TARGET, "MONITOR", "OPERATE"),),
    "ALTER CONTRACT": _owner(),
    "ALTER CONTRACT CONSUMER": (_ask(Subject.TARGET, "USAGE"),),
    "CHECK CONTRACT": (_ask(Subject.TARGET, "USAGE", "APPLY"),),
    "ALTER DATA PRODUCT": _owner(),
    "ALTER TAG": _owner(),
    "EXECUTE QUALITY CHECKS": (_READS,),
    "EXECUTE TASK": (_ask(Subject.TARGET, "OPERATE"),),
    "ALTER STAGE": _owner(),
    "ALTER FILE FORMAT": _owner(),
    "ALTER SEQUENCE": _owner(),
    "ALTER FUNCTION": _owner(),
    "ALTER PROCEDURE": _owner(),
    "DROP": _owner(),
    "UNDROP": _owner(),
    "COMMENT": _owner(),
    "CALL": (_ask(Subject.TARGET, "USAGE"),),
    "EXPLAIN DYNAMIC TABLE": (_ask(Subject.TARGET, "MONITOR"),),
    # Containers, warehouses, the account.
    "CREATE DATABASE": (_ask(Subject.ACCOUNT, "CREATE DATABASE"), _ask(Subject.REPLACED, OWNERSHIP)),
    "CREATE DATABASE CLONE": (
        _ask(Subject.ACCOUNT, "CREATE DATABASE"), _ask(Subject.REPLACED, OWNERSHIP), _ask(Subject.SOURCE, OWNERSHIP),
    ),
    "CREATE SCHEMA": (_ask(Subject.DATABASE, "CREATE SCHEMA"), _ask(Subject.REPLACED, OWNERSHIP)),
    "CREATE SCHEMA CLONE": (
        _ask(Subject.DATABASE, "CREATE SCHEMA"), _ask(Subject.REPLACED, OWNERSHIP), _ask(Subject.SOURCE, OWNERSHIP),
    ),
    "CREATE WAREHOUSE": (_ask(Subject.ACCOUNT, "CREATE WAREHOUSE"), _ask(Subject.REPLACED, OWNERSHIP)),
    "ALTER DATABASE": (_ask(Subject.TARGET, "MODIFY"),),
    "ALTER DATABASE RENAME": _owner(_ask(Subject.ACCOUNT, "CREATE DATABASE")),
    "ALTER SCHEMA": (_ask(Subject.TARGET, "MODIFY"),),
    "ALTER SCHEMA RENAME": _owner(_ask(Subject.DATABASE, "CREATE SCHEMA")),
    "COMMENT ON CONTAINER": (_ask(Subject.TARGET, "MODIFY"),),
    "ALTER WAREHOUSE": (_ask(Subject.TARGET, "MODIFY"),),
    "ALTER WAREHOUSE OPERATE": (_ask(Subject.TARGET, "OPERATE"),),
    "ALTER WAREHOUSE RENAME": _owner(),
    "ALTER ACCOUNT": (_ask(Subject.ACCOUNT, "MANAGE ACCOUNT"),),
    # Users and roles.
    "CREATE USER": (_ask(Subject.ACCOUNT, "CREATE USER"), _ask(Subject.REPLACED, OWNERSHIP)),
    "CREATE ROLE": (_ask(Subject.ACCOUNT, "CREATE ROLE"), _ask(Subject.REPLACED, OWNERSHIP)),
    "ALTER USER": _owner(),
    "ALTER ROLE": _owner(),
}  # fmt: skip
"""What each kind of statement asks for. One that is not here asks for nothing by itself."""

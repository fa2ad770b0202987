"""What Snowflake has and this parser knows by name only: refused as unsupported, not as a syntax error."""

from __future__ import annotations

from snowmelt.core import errors

KINDS = (
    "DYNAMIC ICEBERG TABLE", "EXTERNAL ACCESS INTEGRATION", "RESOURCE MONITOR",
    "EXTERNAL TABLE", "EXTERNAL FUNCTION", "EXTERNAL VOLUME", "EXTERNAL AGENT", "EVENT TABLE",
    "HYBRID TABLE", "ICEBERG TABLE", "INTERACTIVE TABLE", "INTERACTIVE WAREHOUSE", "MATERIALIZED VIEW",
    "SEMANTIC VIEW",
    "JOIN POLICY", "PRIVACY POLICY", "NETWORK RULE", "PASSWORD POLICY", "SESSION POLICY",
    "AUTHENTICATION POLICY", "PACKAGES POLICY", "FEATURE POLICY", "STORAGE LIFECYCLE POLICY",
    "BACKUP POLICY", "BACKUP SET", "STORAGE INTEGRATION", "API INTEGRATION", "CATALOG INTEGRATION",
    "NOTIFICATION INTEGRATION", "SECURITY INTEGRATION", "INTEGRATION", "DATABASE ROLE", "APPLICATION ROLE",
    "APPLICATION PACKAGE", "APPLICATION", "DATA METRIC FUNCTION", "COMPUTE POOL", "SERVICE",
    "IMAGE REPOSITORY", "GIT REPOSITORY", "CORTEX SEARCH SERVICE", "FAILOVER GROUP", "REPLICATION GROUP",
    "ORGANIZATION ACCOUNT", "MANAGED ACCOUNT", "SNAPSHOT", "SECRET", "STREAMLIT", "NOTEBOOK", "LISTING",
    "DATASET", "CONTACT", "CONNECTION", "MODEL", "INDEX", "SHARE",
    "CHANNEL", "AGENT", "TYPE", "ACCOUNT",
)  # fmt: skip
"""Kinds of objects, the longer names before those they end or begin like."""

_FOLDERS = "Keys come from the environment of the server, as the reference of the configuration says."
_ICEBERG = "CREATE TABLE, CREATE DYNAMIC TABLE: other engines read all of them as Iceberg from the catalog at /iceberg."
INSTEAD = {
    "MATERIALIZED VIEW": "CREATE DYNAMIC TABLE keeps a query's rows up to date by changes; a view is always of now.",
    "HYBRID TABLE": "CREATE TABLE finds rows by key in milliseconds; NOT NULL and CHECK are enforced, keys are not.",
    "INDEX": "None is needed: rows are found by key from the files' statistics; CLUSTER BY keeps them in order.",
    "EXTERNAL TABLE": "Query the files where they are (SELECT … FROM @stage), or load them by CREATE PIPE.",
    "ICEBERG TABLE": _ICEBERG,
    "DYNAMIC ICEBERG TABLE": _ICEBERG,
    "EXTERNAL VOLUME": _FOLDERS,
    "STORAGE INTEGRATION": _FOLDERS,
    "SECRET": _FOLDERS,
    "EVENT TABLE": "QUERY_HISTORY and the server's log and traces have what happened.",
    "DATABASE ROLE": "CREATE ROLE, and grant it what it needs in the database.",
    "RESOURCE MONITOR": "CREATE ALERT on WAREHOUSE_METERING_HISTORY tells when a warehouse costs too much.",
    "DATA METRIC FUNCTION": "ALTER TABLE … ADD QUALITY CHECK.",
    "NOTIFICATION INTEGRATION": "Ways to reach people are settings: see the reference of alerts.",
}
"""What to use in place of a kind."""


def refused(verb: str, kind: str) -> errors.SnowmeltError:
    """The error for a statement about one of `KINDS`."""
    return errors.unsupported(f"{verb} {kind}", hint=INSTEAD.get(kind))


LEADING_WORDS = frozenset(
    {
        "KILL",
        "EXECUTE",
        "DEALLOCATE",
        "PREPARE",
        "LOCK",
        "UNLOCK",
        "ANALYZE",
        "VACUUM",
        "OPTIMIZE",
    }
)

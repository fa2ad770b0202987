"""docs/reference/compatibility.md: what of Snowflake's functions and statements is here, from the code itself."""

from __future__ import annotations

import re
from pathlib import Path

from snowmelt.accounts import FEATURES, install_kinds
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.type_errors import ELSEWHERE
from snowmelt.core.types import TYPE_WORDS
from snowmelt.sql.functions import documented
from snowmelt.sql.functions.catalog import FUNCTIONS
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.statements.unsupported import INSTEAD
from snowmelt.sql.tokens import SqlText

TARGET = Path("docs/reference/compatibility.md")
_UNEXPECTED = re.compile("unexpected '(.+?)'")
_BY_GRAMMAR = frozenset(
    ["CAST", "TRY_CAST", "EXTRACT", "FLATTEN", "GENERATOR", "SPLIT_TO_TABLE", "STRTOK_SPLIT_TO_TABLE", "REGEXP"]
)
"""What the grammar or FROM has, and not the allow-list."""
_KINDS = (
    "ACCOUNT", "AGGREGATION POLICY", "ALERT", "API INTEGRATION", "APPLICATION", "AUTHENTICATION POLICY", "COMPUTE POOL",
    "DATABASE", "DATABASE ROLE", "DYNAMIC TABLE", "EVENT TABLE", "EXTERNAL FUNCTION", "EXTERNAL TABLE",
    "EXTERNAL VOLUME", "FAILOVER GROUP", "FILE FORMAT", "FUNCTION", "GIT REPOSITORY", "HYBRID TABLE", "ICEBERG TABLE",
    "IMAGE REPOSITORY", "JOIN POLICY", "LISTING", "MASKING POLICY", "MATERIALIZED VIEW", "MODEL", "NETWORK POLICY",
    "NETWORK RULE", "NOTEBOOK", "NOTIFICATION INTEGRATION", "PASSWORD POLICY", "PIPE", "PROCEDURE", "PROJECTION POLICY",
    "REPLICATION GROUP", "RESOURCE MONITOR", "ROLE", "ROW ACCESS POLICY", "SCHEMA", "SECRET", "SECURITY INTEGRATION",
    "SEMANTIC VIEW", "SEQUENCE", "SERVICE", "SESSION POLICY", "SHARE", "STAGE", "STORAGE INTEGRATION", "STREAM",
    "STREAMLIT", "TABLE", "TAG", "TASK", "USER", "VIEW", "WAREHOUSE",
)  # fmt: skip
_PLAIN = (
    "SELECT 1", "EXPLAIN SELECT 1", "INSERT INTO t VALUES (1)", "INSERT ALL INTO t SELECT 1", "UPDATE t SET a = 1",
    "DELETE FROM t", "MERGE INTO t USING s ON TRUE WHEN MATCHED THEN DELETE", "TRUNCATE TABLE t", "COPY INTO t FROM @s",
    "COPY INTO @s FROM t", "COPY FILES INTO @a FROM @b", "PUT file:///f @s", "GET @s file:///f", "LIST @s", "REMOVE @s",
    "BEGIN", "COMMIT", "ROLLBACK", "CALL p()", "EXECUTE IMMEDIATE 'SELECT 1'", "EXECUTE TASK t", "EXECUTE ALERT a",
    "GRANT SELECT ON TABLE t TO ROLE r", "REVOKE SELECT ON TABLE t FROM ROLE r", "USE DATABASE d", "USE ROLE r",
    "USE SECONDARY ROLES ALL", "USE WAREHOUSE w", "SET a = 1", "UNSET a", "ALTER SESSION SET TIMEZONE = 'UTC'",
    "SHOW TABLES", "SHOW GRANTS", "DESCRIBE TABLE t", "COMMENT ON TABLE t IS 'x'", "UNDROP TABLE t",
    "DESCRIBE RESULT 'x'", "SHOW PARAMETERS", "SHOW TRANSACTIONS", "SHOW LOCKS", "SHOW PIPES",
)  # fmt: skip


def render() -> str:
    install_kinds()
    here = 0
    lines: list[str] = []
    for category, names in documented.categories().items():
        rows = [(name, _state(name)) for name in names]
        here += sum(1 for _, state in rows if state == "here")
        lines += [f"### {category}", "", "| function | state |", "|---|---|"]
        lines += [f"| {name} | {state} |" for name, state in rows] + [""]
    count = len(documented.names())
    head = [
        "# Compatibility",
        "",
        "Written by `make docs`: functions from the list in `src/snowmelt/sql/functions/documented.txt` (names in "
        "Snowflake's documentation without model functions, account histories, native apps and listings) against the "
        "allow-list, statements by parsing one of each kind.",
        "",
        "`here`: works, with tested values. `refused by name`: an error 000002 that says so. `not known`: a syntax "
        "error. Options of a statement that are not here are refused by name too; [sql.md](sql.md) has the rest.",
        "",
        f"## Functions: {here} of {count}",
        "",
    ]
    return "\n".join([*head, *lines, *_types(), *_statements()])


def _state(name: str) -> str:
    function = FUNCTIONS.get(name)
    if function is not None:
        return "here" if function.refusal is None else f"refused by name: {function.refusal}"
    return "here" if name in _BY_GRAMMAR or name in FEATURES.system_functions else "refused by name"


def _types() -> list[str]:
    lines = ["## Types", "", "| type | state |", "|---|---|"]
    lines += [f"| {word} | here |" for word in TYPE_WORDS]
    return [*lines, *(f"| {word} | refused by name: {hint} |" for word, hint in ELSEWHERE.items()), ""]


def _statements() -> list[str]:
    lines = ["## Statements", "", "| statement | state |", "|---|---|"]
    lines += [f"| {text.replace('|', '')} | {_parsed(text)} |" for text in _PLAIN]
    for kind in _KINDS:
        states = [f"{verb} {_parsed(f'{verb} {kind} x')}" for verb in ("CREATE", "ALTER", "DROP")]
        refused = f"refused by name: {INSTEAD[kind]}" if kind in INSTEAD else "refused by name"
        shown = refused if all(state.endswith("refused by name") for state in states) else "; ".join(states)
        lines.append(f"| CREATE / ALTER / DROP {kind} | {shown} |")
    return [*lines, ""]


def _parsed(text: str) -> str:
    """A statement that is refused says so before it asks for its rest; one that is not known trips over a word."""
    try:
        parse_statement(SqlText(text))
    except SnowmeltError as error:
        if error.code == "000002":
            return "refused by name"
        stumbled = _UNEXPECTED.search(error.message)
        return "not known" if stumbled is not None and stumbled[1] in text.split() else "here"
    return "here"

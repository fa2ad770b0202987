"""Anti-patterns in a running account, looked for through SQL alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.lag import parse_lag
from snowmelt.core.names import ObjectName, literal, quote
from snowmelt.design.antipatterns.library import library
from snowmelt.design.antipatterns.linting import lint_library
from snowmelt.design.antipatterns.model import LintFinding, known_antipatterns, ordered
from snowmelt.design.deciding import ALERT_FACTOR

Ask = Callable[[str], Sequence[Mapping[str, Any]]]
"""Runs a statement; rows by the names of their columns."""
_SOON = timedelta(days=1)
_SYSTEM = ("SNOWFLAKE", "SNOWFLAKE_SAMPLE_DATA")


def account_findings(ask: Ask, now: datetime | None = None) -> list[LintFinding]:
    now = now or datetime.now(UTC)
    found = list(_definitions(ask))
    for identifier, name, message in (*_dynamic_tables(ask, now), *_streams(ask, now)):
        found.append(LintFinding(known_antipatterns()[identifier], "account", 0, name, message))
    return ordered(found)


def _definitions(ask: Ask) -> Iterator[LintFinding]:
    """What GET_DDL gives is judged as the files of a project are."""
    for item in lint_library(library(definitions_of(ask))):
        # The account itself answers what the text can only guess.
        if item.pattern.id not in ("ES-01", "DW-02", "PD-05"):
            yield LintFinding(item.pattern, "account", 0, item.object, item.message)


def definitions_of(ask: Ask) -> list[tuple[str, str]]:
    """The databases, each with its DDL."""
    texts = []
    for row in ask("SHOW DATABASES"):
        name = str(row["name"])
        if name in _SYSTEM:
            continue
        try:
            ddl = ask(f"SELECT GET_DDL('DATABASE', {literal(quote(name))}, TRUE) AS ddl")[0]["DDL"]
        except SnowmeltError:
            continue
        texts.append((name, str(ddl)))
    return texts


def _dynamic_tables(ask: Ask, now: datetime) -> Iterator[tuple[str, str, str]]:
    for row in ask("SHOW DYNAMIC TABLES IN ACCOUNT"):
        name = _named(row)
        if row["refresh_mode"] == "FULL" and row["refresh_mode_reason"]:
            yield "DW-01", name, str(row["refresh_mode_reason"])
        if row["scheduling_state"] == "SUSPENDED":
            yield "DO-04", name, "it is suspended: nothing refreshes it, nor what needs it"
            continue
        lag, stamp = parse_lag(str(row["target_lag"] or "")), row["data_timestamp"]
        if lag is not None and isinstance(stamp, datetime):
            age = (now - (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC))).total_seconds()
            if age > ALERT_FACTOR * lag:
                yield "DO-01", name, f"it is {age:.0f} s old, and its lag is {lag} s"


def _streams(ask: Ask, now: datetime) -> Iterator[tuple[str, str, str]]:
    for row in ask("SHOW STREAMS IN ACCOUNT"):
        until = row["stale_after"]
        if str(row["stale"]).lower() == "true":
            yield "DO-05", _named(row), "it is stale: changes since its offset are gone"
        elif isinstance(until, datetime):
            left = (until if until.tzinfo else until.replace(tzinfo=UTC)) - now
            if left < _SOON:
                yield "DO-05", _named(row), f"it becomes stale in {max(left.total_seconds() / 3600, 0):.0f} hours"


def _named(row: Mapping[str, Any]) -> str:
    return str(ObjectName(str(row["database_name"]), str(row["schema_name"]), str(row["name"])))

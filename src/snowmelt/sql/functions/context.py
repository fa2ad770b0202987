"""Functions whose value comes from the session or the statement.

They become constants, so that every use in a statement gives the same value.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import (
    BOOLEAN,
    DATE,
    TIME,
    TIMESTAMP_LTZ,
    TIMESTAMP_NTZ,
    VARCHAR,
    DataType,
    Kind,
)
from snowmelt.sql.dialect import spark, string
from snowmelt.sql.functions.arguments import constant_integer
from snowmelt.sql.functions.registry import Function, FunctionCall, SessionContext, alias, context, refused, scalar
from snowmelt.sql.patterns import constant_string

_STORAGE = {
    Kind.FLOAT: "DOUBLE", Kind.VARCHAR: "LOB", Kind.BINARY: "LOB", Kind.BOOLEAN: "SB1", Kind.DATE: "SB4",
    Kind.TIME: "SB8", Kind.TIMESTAMP_NTZ: "SB16", Kind.TIMESTAMP_LTZ: "SB16", Kind.TIMESTAMP_TZ: "SB16",
    Kind.VARIANT: "LOB", Kind.OBJECT: "LOB", Kind.ARRAY: "LOB", Kind.NULL: "LOB",
}  # fmt: skip


def _text(name: str, value: Callable[[SessionContext], str | None]) -> Function:
    def emit(call: FunctionCall) -> exp.Expr:
        text = value(call.context)
        return spark("CAST(NULL AS STRING)") if text is None else string(text)

    return context(name, "", VARCHAR, emit)


def _schemas(session: SessionContext) -> str:
    if session.database is None or session.schema is None:
        return "[]"
    return f'["{session.database}"."{session.schema}"]'


def _now(call: FunctionCall) -> datetime:
    """The statement's instant, in UTC, cut to the digits that the call asks for."""
    now = call.context.now
    now = now.replace(tzinfo=UTC) if now.tzinfo is None else now.astimezone(UTC)
    digits = min(_digits(call), 6)
    step = 10 ** (6 - digits)
    return now.replace(microsecond=now.microsecond // step * step)


def _digits(call: FunctionCall) -> int:
    digits = constant_integer(call, 0, 9)
    if digits is None or not 0 <= digits <= 9:
        raise errors.invalid_value(call.literal(0) or "", "fract_sec_precision")
    return digits


def _with_digits(call: FunctionCall) -> DataType:
    return replace(call.returns, precision=_digits(call))


def _timestamp(call: FunctionCall) -> exp.Expr:
    return spark("CAST(_0 AS TIMESTAMP)", string(f"{_now(call):%Y-%m-%d %H:%M:%S.%f}Z"))


def _utc_timestamp(call: FunctionCall) -> exp.Expr:
    return spark("CAST(_0 AS TIMESTAMP_NTZ)", string(f"{_now(call):%Y-%m-%d %H:%M:%S.%f}"))


def _date(call: FunctionCall) -> exp.Expr:
    local = _now(call).astimezone(ZoneInfo(call.context.time_zone))
    return spark("CAST(_0 AS DATE)", string(f"{local:%Y-%m-%d}"))


def _time(call: FunctionCall) -> exp.Expr:
    local = _now(call).astimezone(ZoneInfo(call.context.time_zone))
    return spark("CAST(_0 AS TIME)", string(f"{local:%H:%M:%S.%f}"))


def _last_query_id(call: FunctionCall) -> exp.Expr:
    """Negative numbers count from the last statement back, positive ones from the first of the session on."""
    number = constant_integer(call, 0, -1)
    if number is None:
        raise errors.unsupported("LAST_QUERY_ID of something that is not a constant")
    ids = call.context.last_query_ids
    index = number - 1 if number > 0 else len(ids) + number
    if number != 0 and 0 <= index < len(ids):
        return string(ids[index])
    return spark("CAST(NULL AS STRING)")


def _is_role_in_session(call: FunctionCall) -> exp.Expr:
    role = constant_string(call.args[0])
    if role is not None:
        return exp.Boolean(this=role in call.context.roles)
    return exp.In(this=call.args[0], expressions=[string(role) for role in sorted(call.context.roles)])


def _secondary_roles(session: SessionContext) -> str:
    chosen = session.secondary_roles
    active = session.roles if chosen == ("ALL",) else set(chosen)
    shown = ",".join(sorted(active - {session.role, "PUBLIC"}))
    return json.dumps({"roles": shown, "value": ",".join(chosen)}, separators=(",", ":"))


def _type_of(call: FunctionCall) -> exp.Expr:
    type_ = call.types[0]
    if type_.kind is Kind.NUMBER:
        precision = type_.precision or 38
        storage = next(
            (name for digits, name in ((2, "SB1"), (4, "SB2"), (9, "SB4"), (18, "SB8")) if precision <= digits),
            "SB16",
        )
    else:
        storage = _STORAGE[type_.kind]
    shown = "NULL" if type_.kind is Kind.NULL else str(type_)
    return string(f"{shown}[{storage}]")


_CURRENT_TIMESTAMP = context(
    "CURRENT_TIMESTAMP", "int", TIMESTAMP_LTZ, _timestamp, least=0, volatile=True, typed=_with_digits
)
_CURRENT_TIME = context("CURRENT_TIME", "int", TIME, _time, least=0, volatile=True, typed=_with_digits)

FUNCTIONS = (
    _text("CURRENT_DATABASE", lambda session: session.database),
    _text("CURRENT_SCHEMA", lambda session: session.schema),
    _text("CURRENT_SCHEMAS", _schemas),
    _text("CURRENT_WAREHOUSE", lambda session: session.warehouse),
    _text("CURRENT_ROLE", lambda session: session.role),
    _text("CURRENT_ROLE_TYPE", lambda session: "ROLE"),
    _text("INVOKER_ROLE", lambda session: session.invoker or session.role),
    _text("CURRENT_AVAILABLE_ROLES", lambda session: json.dumps(sorted(session.available_roles))),
    _text("CURRENT_SECONDARY_ROLES", _secondary_roles),
    _text("CURRENT_USER", lambda session: session.user),
    _text("CURRENT_ACCOUNT", lambda session: session.account),
    _text("CURRENT_ACCOUNT_NAME", lambda session: session.account),
    _text("CURRENT_ORGANIZATION_NAME", lambda session: session.account),
    _text("CURRENT_REGION", lambda session: "LOCAL"),
    _text("CURRENT_SESSION", lambda session: session.session_id),
    _text("CURRENT_TRANSACTION", lambda session: session.transaction_id),
    _text("CURRENT_VERSION", lambda session: session.version),
    _text("CURRENT_CLIENT", lambda session: f"Snowmelt {session.version}"),
    refused("CURRENT_STATEMENT", "QUERY_HISTORY has the text."),
    context("IS_ROLE_IN_SESSION", "str", BOOLEAN, _is_role_in_session),
    context("LAST_QUERY_ID", "int", VARCHAR, _last_query_id, least=0),
    _CURRENT_TIMESTAMP,
    *alias(_CURRENT_TIMESTAMP, "LOCALTIMESTAMP", "GETDATE", "SYSTIMESTAMP"),
    context("SYSDATE", "", TIMESTAMP_NTZ, _utc_timestamp, volatile=True),
    context("CURRENT_DATE", "", DATE, _date, volatile=True),
    _CURRENT_TIME,
    *alias(_CURRENT_TIME, "LOCALTIME"),
    scalar("SYSTEM$TYPEOF", "any", VARCHAR, _type_of),
)

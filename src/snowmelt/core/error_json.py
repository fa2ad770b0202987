"""Errors on the wire between Snowmelt's own clients and server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from snowmelt.core.errors import SnowmeltError


def error_to_json(error: SnowmeltError) -> dict[str, Any]:
    return {
        "code": error.code,
        "sqlstate": error.sqlstate,
        "message": error.message,
        "hint": error.hint,
        "transient": error.transient,
    }


def error_from_json(body: Mapping[str, Any]) -> SnowmeltError:
    return SnowmeltError(
        body["code"],
        body["sqlstate"],
        body["message"],
        hint=body.get("hint"),
        transient=bool(body.get("transient")),
    )

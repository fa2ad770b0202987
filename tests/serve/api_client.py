"""A client of the SQL REST API as its documentation describes one: it knows the formats of values and nothing else."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import httpx

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class ApiClient:
    def __init__(self, url: str, token: str, kind: str | None = "PROGRAMMATIC_ACCESS_TOKEN") -> None:
        headers = {"authorization": f"Bearer {token}", "accept": "application/json", "user-agent": "tests/1.0"}
        if kind is not None:
            headers["x-snowflake-authorization-token-type"] = kind
        self.http = httpx.Client(base_url=url, headers=headers, timeout=300)

    def submit(self, statement: str, query: str = "", **fields: Any) -> httpx.Response:
        return self.http.post(f"/api/v2/statements?{query}", json={"statement": statement, **fields})

    def look(self, handle: str, query: str = "") -> httpx.Response:
        return self.http.get(f"/api/v2/statements/{handle}?{query}")

    def rows(self, statement: str, **fields: Any) -> list[tuple[Any, ...]]:
        """All rows of a statement, as values of Python."""
        answer = self.submit(statement, **fields)
        while answer.status_code == 202:
            answer = self.http.get(answer.json()["statementStatusUrl"])
        assert answer.status_code == 200, answer.text
        return self.rows_of(answer.json())

    def rows_of(self, first: dict[str, Any]) -> list[tuple[Any, ...]]:
        metadata = first["resultSetMetaData"]
        rows = list(first["data"])
        for number, partition in enumerate(metadata["partitionInfo"]):
            if number:
                found = self.look(first["statementHandle"], f"partition={number}").json()["data"]
                assert len(found) == partition["rowCount"]
                rows += found
        assert len(rows) == metadata["numRows"]
        columns = metadata["rowType"]
        return [tuple(_value(column, text) for column, text in zip(columns, row, strict=True)) for row in rows]


def _value(column: dict[str, Any], text: str | None) -> Any:
    if text is None:
        return None
    match column["type"]:
        case "fixed":
            return Decimal(text) if column["scale"] else int(text)
        case "real":
            return float(text)
        case "boolean":
            return {"true": True, "false": False}[text]
        case "binary":
            return bytes.fromhex(text)
        case "date":
            return dt.date(1970, 1, 1) + dt.timedelta(days=int(text))
        case "time":
            return (_EPOCH + _since(text)).time()
        case "timestamp_ntz":
            return (_EPOCH + _since(text)).replace(tzinfo=None)
        case "timestamp_ltz":
            return _EPOCH + _since(text)
        case "timestamp_tz":
            seconds, _, zone = text.partition(" ")
            return (_EPOCH + _since(seconds)).astimezone(dt.timezone(dt.timedelta(minutes=int(zone) - 1440)))
        case _:
            return text


def _since(seconds: str) -> dt.timedelta:
    fraction = seconds.partition(".")[2]
    assert len(fraction) == 9, seconds
    return dt.timedelta(microseconds=int(Decimal(seconds) * 1_000_000))

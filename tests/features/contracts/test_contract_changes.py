"""Every kind of change under every mode: what it is called, whom it breaks, which version it asks for."""

from __future__ import annotations

from typing import Any

import pytest

from snowmelt.govern.contracts.changes import ChangeKind, changes
from snowmelt.govern.contracts.compatibility import EFFECTS, breaks, compare
from snowmelt.govern.contracts.model import Compatibility
from snowmelt.govern.contracts.versions import Bump, Version, parse_version
from tests.features.contracts.documents import column, contract

K = ChangeKind
ORDERED = {"custom": {"columnOrder": True}}
A, B = column("a"), column("b")
VALUES = {"type": "library", "metric": "invalidValues", "mustBe": 0}


def values(*allowed: str) -> dict[str, Any]:
    return column("a", "VARCHAR", quality=[{**VALUES, "arguments": {"validValues": list(allowed)}}])


def limited(**options: Any) -> dict[str, Any]:
    return column("a", "VARCHAR(9)", logicalType="string", logicalTypeOptions=options)


# What changes, from, to, and whether it breaks under (BACKWARD, FORWARD, FULL). NONE never breaks.
TABLE: tuple[tuple[ChangeKind, Any, Any, tuple[bool, bool, bool]], ...] = (
    (K.TABLE_ADDED, [[A]], [[A], [B]], (False, False, False)),
    (K.TABLE_REMOVED, [[A], [B]], [[A]], (True, False, True)),
    (K.COLUMN_ADDED, [A], [A, B], (False, False, False)),
    (K.REQUIRED_COLUMN_ADDED, [A], [A, column("b", required=True)], (False, True, True)),
    (K.COLUMN_REMOVED, [A, B], [A], (True, False, True)),
    (K.COLUMN_RENAMED, [A, column("b", id="x1")], [A, column("c", id="x1")], (True, True, True)),
    (K.TYPE_WIDENED, [A], [column("a", "NUMBER(12,0)")], (True, False, True)),
    (K.TYPE_WIDENED, [column("a", "VARCHAR(5)")], [column("a", "VARCHAR(6)")], (True, False, True)),
    (K.TYPE_WIDENED, [column("a", None, logicalType="integer")], [column("a", None, logicalType="number")],
     (True, False, True)),
    (K.TYPE_NARROWED, [A], [column("a", "NUMBER(8,0)")], (False, True, True)),
    (K.TYPE_NARROWED, [column("a", None, logicalType="timestamp")], [column("a", "TIMESTAMP_NTZ")],
     (False, True, True)),
    (K.TYPE_CHANGED, [A], [column("a", "VARCHAR")], (True, True, True)),
    (K.TYPE_CHANGED, [A], [column("a", "NUMBER(10,2)")], (True, True, True)),
    (K.MADE_REQUIRED, [A], [column("a", required=True)], (False, True, True)),
    (K.MADE_OPTIONAL, [column("a", required=True)], [A], (True, False, True)),
    (K.MADE_UNIQUE, [A], [column("a", unique=True)], (False, True, True)),
    (K.NO_LONGER_UNIQUE, [column("a", unique=True)], [A], (True, False, True)),
    (K.KEY_ADDED, [column("a", required=True)], [column("a", primaryKey=True)], (False, True, True)),
    (K.KEY_REMOVED, [column("a", primaryKey=True)], [column("a", required=True)], (True, False, True)),
    (K.KEY_CHANGED, [column("a", primaryKey=True), column("b", required=True)],
     [column("a", required=True), column("b", primaryKey=True)], (True, True, True)),
    (K.LIMIT_TIGHTENED, [limited(minLength=1)], [limited(minLength=2)], (False, True, True)),
    (K.LIMIT_TIGHTENED, [limited()], [limited(pattern="a.*")], (False, True, True)),
    (K.LIMIT_LOOSENED, [limited(minLength=2)], [limited(minLength=1)], (True, False, True)),
    (K.LIMIT_LOOSENED, [limited(maxLength=2)], [limited(maxLength=3)], (True, False, True)),
    (K.LIMIT_LOOSENED, [limited(pattern="a.*")], [limited()], (True, False, True)),
    (K.LIMIT_CHANGED, [limited(pattern="a.*")], [limited(pattern="b.*")], (True, True, True)),
    (K.VALUES_ADDED, [values("x")], [values("x", "y")], (True, False, True)),
    (K.VALUES_ADDED, [values("x")], [column("a", "VARCHAR")], (True, False, True)),
    (K.VALUES_REMOVED, [values("x", "y")], [values("x")], (False, True, True)),
    (K.VALUES_REMOVED, [column("a", "VARCHAR")], [values("x")], (False, True, True)),
    (K.REORDERED, [A, B, ORDERED], [B, A, ORDERED], (True, True, True)),
    (K.ORDER_PROMISED, [A, B], [A, B, ORDERED], (False, True, True)),
    (K.ORDER_NOT_PROMISED, [A, B, ORDERED], [A, B], (True, False, True)),
    (K.OPENED, [A], [A, {"custom": {"additionalColumns": True}}], (False, False, False)),
    (K.CLOSED, [A, {"custom": {"additionalColumns": True}}], [A], (False, True, True)),
    (K.SERVICE_LEVEL_CHANGED, [A], [A, {"slaProperties": [{"property": "freshness", "value": 5, "unit": "m"}]}],
     (False, False, False)),
    (K.DOCUMENTATION_CHANGED, [A], [column("a", description="the first")], (False, False, False)),
    (K.DOCUMENTATION_CHANGED, [A], [A, {"domain": "sales"}], (False, False, False)),
)  # fmt: skip
ONLY = {K.COLUMN_RENAMED, K.ORDER_PROMISED, K.ORDER_NOT_PROMISED, K.OPENED, K.CLOSED}
"""Kinds whose examples change the head of the document as well."""


def made(parts: list[Any], version: str) -> Any:
    if isinstance(parts[0], list):
        schema = [{"name": f"t{index}", "properties": columns} for index, columns in enumerate(parts)]
        return contract(version=version, schema=schema)
    columns = [part for part in parts if "name" in part]
    fields = {name: value for part in parts if "name" not in part for name, value in part.items()}
    return contract(*columns, version=version, **fields)


def test_the_table_has_every_kind() -> None:
    assert {row[0] for row in TABLE} == set(ChangeKind) == set(EFFECTS)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0].value}-{TABLE.index(row)}")
@pytest.mark.parametrize("mode", list(Compatibility), ids=str)
def test_each_change_under_each_mode(row: Any, mode: Compatibility) -> None:
    kind, before, after, broken = row
    verdict = compare(made(before, "1.4.2"), made(after, "1.4.3"), mode)
    found = [change.kind for change in verdict.changes]
    assert kind in found
    assert set(found) - {kind} <= ({K.DOCUMENTATION_CHANGED} if kind in ONLY else set())
    expected = dict(zip(Compatibility, (*broken, False), strict=True))[mode]
    assert breaks(kind, mode) is expected
    assert bool(verdict.breaking) is expected
    least = Bump.MAJOR if expected else Bump.PATCH if kind is K.DOCUMENTATION_CHANGED else Bump.MINOR
    assert verdict.needed is least
    assert verdict.allowed is (least is Bump.PATCH)
    assert verdict.least == Version(1, 4, 2).next(least)
    assert compare(made(before, "1.4.2"), made(after, str(verdict.least)), mode).allowed


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0].value}-{TABLE.index(row)}")
def test_the_way_back_breaks_the_others(row: Any) -> None:
    """What is more to one side is less to the other, for every change that has a direction."""
    _, before, after, (readers, writers, _) = row
    back = compare(made(after, "1.0.0"), made(before, "1.0.0"), Compatibility.BACKWARD)
    forth = compare(made(before, "1.0.0"), made(after, "1.0.0"), Compatibility.FORWARD)
    if readers != writers and row[0] not in (K.TABLE_REMOVED, K.COLUMN_REMOVED, K.CLOSED):
        assert bool(back.breaking) is bool(forth.breaking) is writers


def test_the_same_document_is_no_change() -> None:
    same = contract(A, B)
    assert changes(same, same) == ()
    assert compare(same, same, Compatibility.FULL).allowed


def test_columns_behind_the_others_keep_a_promised_order() -> None:
    found = changes(contract(A, **ORDERED), contract(A, B, **ORDERED))
    assert [change.kind for change in found] == [K.COLUMN_ADDED]
    found = changes(contract(A, **ORDERED), contract(B, A, **ORDERED))
    assert [change.kind for change in found] == [K.COLUMN_ADDED, K.REORDERED]


def test_another_order_that_nobody_promised_is_no_change() -> None:
    assert changes(contract(A, B), contract(B, A)) == ()


def test_what_is_inside_of_columns_counts_too() -> None:
    def nested(*inner: dict[str, Any]) -> Any:
        return contract(column("address", "OBJECT", logicalType="object", properties=list(inner)))

    found = changes(nested(column("city", "VARCHAR"), column("zip")), nested(column("city", "VARCHAR")))
    assert [str(change) for change in found] == ["column removed: ORDERS.ADDRESS.zip"]
    items = [column("tags", "ARRAY", logicalType="array", items={"logicalType": word}) for word in ("string", "date")]
    found = changes(contract(items[0]), contract(items[1]))
    assert [(change.kind, change.column) for change in found] == [(K.TYPE_CHANGED, "TAGS[]")]


def test_a_change_says_what_it_was_and_is() -> None:
    found = changes(contract(A), contract(column("a", "NUMBER(12,0)")))
    assert [str(change) for change in found] == ["type widened: ORDERS.A from NUMBER(10,0) to NUMBER(12,0)"]


@pytest.mark.parametrize(
    ("text", "version"),
    [("1.2.3", Version(1, 2, 3)), ("v2", Version(2)), ("1.4", Version(1, 4)), ("1.2.3-rc1", None), ("", None)],
)
def test_versions(text: str, version: Version | None) -> None:
    assert parse_version(text) == version


def test_a_version_can_not_go_back() -> None:
    verdict = compare(contract(A, version="2.0.0"), contract(A, B, version="1.9.0"), Compatibility.NONE)
    assert not verdict.allowed
    assert not compare(contract(A, version="2.0.0"), contract(A, version="1.9.0"), Compatibility.NONE).allowed

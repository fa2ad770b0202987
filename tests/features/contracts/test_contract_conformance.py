"""Whether tables satisfy contracts, and that compatible versions are what they say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snowmelt.core.types import parse_type
from snowmelt.govern.contracts.compatibility import compare
from snowmelt.govern.contracts.conformance import BreachKind, breaches
from snowmelt.govern.contracts.model import Compatibility, Contract, TableColumn
from tests.features.contracts.documents import column, contract

ORDERED = {"custom": {"columnOrder": True}}


def actual(*columns: tuple[str, str, bool]) -> list[TableColumn]:
    found = []
    for name, words, nullable in columns:
        type_ = parse_type(words)
        assert type_ is not None
        found.append(TableColumn(name, type_, nullable))
    return found


def broken(promised: Contract, columns: list[TableColumn], **options: bool) -> list[tuple[BreachKind, str]]:
    found = breaches(promised, promised.tables[0], columns, **options)
    return [(item.kind, item.column) for item in found]


A, B = ("A", "NUMBER(10,0)", True), ("B", "VARCHAR(5)", True)
DECLARED = (column("a"), column("b", "VARCHAR(5)"))


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([A, B], []),
        ([B, A], []),
        ([A], [(BreachKind.MISSING, "B")]),
        ([A, B, ("C", "INT", True)], [(BreachKind.UNDECLARED, "C")]),
        ([A, ("C", "VARCHAR(5)", True)], [(BreachKind.MISSING, "B"), (BreachKind.UNDECLARED, "C")]),
        ([A, ("B", "VARCHAR(6)", True)], [(BreachKind.TYPE, "B")]),
        ([A, ("B", "VARCHAR(4)", False)], []),
        ([("A", "NUMBER(10,1)", True), B], [(BreachKind.TYPE, "A")]),
        ([("A", "FLOAT", True), B], [(BreachKind.TYPE, "A")]),
    ],
)
def test_every_breach_is_named(columns: Any, expected: Any) -> None:
    assert broken(contract(*DECLARED), actual(*columns)) == expected


def test_a_required_column_must_not_be_nullable_where_that_can_be_said() -> None:
    promised = contract(column("a", required=True))
    assert broken(promised, actual(A)) == [(BreachKind.NULLABLE, "A")]
    assert broken(promised, actual(A), nullability=False) == []
    assert broken(contract(column("a", primaryKey=True)), actual(A)) == [(BreachKind.NULLABLE, "A")]


def test_order_counts_where_it_is_promised() -> None:
    assert broken(contract(*DECLARED, **ORDERED), actual(A, B)) == []
    assert broken(contract(*DECLARED, **ORDERED), actual(B, A)) == [(BreachKind.ORDER, "A")]


def test_an_open_contract_lets_others_be() -> None:
    more = actual(A, B, ("C", "INT", True))
    assert broken(contract(*DECLARED, custom={"additionalColumns": True}), more) == []
    both = {"additionalColumns": True, "columnOrder": True}
    assert broken(contract(*DECLARED, custom=both), [more[2], *more[:2]]) == [(BreachKind.ORDER, "A")]


@pytest.mark.parametrize(
    ("logical", "words", "fits"),
    [
        ("integer", "NUMBER(5,0)", True), ("integer", "NUMBER(5,1)", False), ("number", "FLOAT", True),
        ("number", "NUMBER(38,10)", True), ("timestamp", "TIMESTAMP_TZ", True), ("timestamp", "DATE", False),
        ("object", "VARIANT", True), ("array", "VARIANT", True), ("string", "VARCHAR(3)", True),
        ("boolean", "BOOLEAN", True), ("time", "TIME", True),
    ],
)  # fmt: skip
def test_a_logical_type_admits_all_that_can_hold_it(logical: str, words: str, fits: bool) -> None:
    promised = contract(column("a", None, logicalType=logical))
    assert (broken(promised, actual(("A", words, True))) == []) is fits


# -- compatible means what it says ---------------------------------------------------------------------------------

_TYPES = (
    "NUMBER(5,0)", "NUMBER(9,0)", "NUMBER(9,2)", "FLOAT", "VARCHAR(3)", "VARCHAR(8)", "BOOLEAN", "DATE",
    "TIMESTAMP_NTZ(3)", "TIMESTAMP_NTZ(9)", "TIMESTAMP_TZ", "VARIANT", "OBJECT", "ARRAY",
)  # fmt: skip
_LOGICAL = ("string", "integer", "number", "boolean", "date", "timestamp", "object", "array")


@st.composite
def _column(draw: st.DrawFn, name: str) -> dict[str, Any]:
    physical = draw(st.none() | st.sampled_from(_TYPES))
    logical = {"logicalType": draw(st.sampled_from(_LOGICAL))} if physical is None else {}
    return column(name, physical, required=draw(st.booleans()), **logical)


@st.composite
def _contract(draw: st.DrawFn) -> Contract:
    names = draw(st.lists(st.sampled_from("abcde"), min_size=1, unique=True))
    custom = {"columnOrder": draw(st.booleans())}
    return contract(*[draw(_column(name)) for name in names], custom=custom)


def _satisfying(promised: Contract, draw: st.DrawFn) -> list[TableColumn]:
    """Some table that satisfies the contract, not always the plainest."""
    found = []
    for item in promised.tables[0].columns:
        fitting = [type_ for words in _TYPES if (type_ := parse_type(words)) and item.type.admits(type_)]
        type_ = draw(st.sampled_from([item.type.concrete, *fitting]))
        found.append(TableColumn(item.name, type_, nullable=not item.required and draw(st.booleans())))
    return found if promised.ordered else draw(st.permutations(found))


@settings(deadline=None, max_examples=60)
@given(st.data(), _contract(), _contract())
def test_readers_of_the_old_version_find_all_they_know_in_a_backward_compatible_one(
    data: st.DataObject, old: Contract, new: Contract
) -> None:
    if compare(old, new, Compatibility.BACKWARD).breaking:
        return
    table = _satisfying(new, data.draw)
    assert broken(new, table) == []
    known = [item for item in table if old.tables[0].find(item.name) is not None]
    assert broken(old, known) == []


@settings(deadline=None, max_examples=60)
@given(st.data(), _contract(), _contract())
def test_what_was_written_for_the_old_version_satisfies_a_forward_compatible_one(
    data: st.DataObject, old: Contract, new: Contract
) -> None:
    if compare(old, new, Compatibility.FORWARD).breaking:
        return
    table = _satisfying(old, data.draw)
    kept = [item for item in table if new.tables[0].find(item.name) is not None]
    known = {item.name for item in kept}
    # What old rows do not have is NULL in them.
    kept += [TableColumn(item.name, item.type.concrete) for item in new.tables[0].columns if item.name not in known]
    assert broken(new, kept) == []

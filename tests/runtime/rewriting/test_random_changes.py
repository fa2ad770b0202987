"""Random UPDATE, DELETE and MERGE statements against a model in Python, carried out in every way there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.runtime.account import Account
from snowmelt.runtime.rewriting import local
from snowmelt.runtime.session import Session
from snowmelt.state.model import ObjectKind, TableDefinition
from snowmelt.storage.variant import decode
from tests.runtime.rewriting.model import (
    COLUMNS,
    AmbiguousError,
    Delete,
    Effect,
    Merge,
    Row,
    Update,
    multiset,
    rows,
    statements,
)

_DATABASE = "RANDOM_CHANGES"
_DDL = "(id INT, k INT, a INT, s VARCHAR, v VARIANT)"


class Table:
    """The target, seen through delta-rs: what is committed, at which version."""

    def __init__(self, account: Account) -> None:
        self.account = account

    def _definition(self) -> tuple[str, TableDefinition]:
        with self.account.state.read() as state:
            found = state.catalog.find(ObjectName(_DATABASE, "PUBLIC", "T"), [ObjectKind.TABLE], None)
        assert found is not None
        assert isinstance(found.definition, TableDefinition)
        return found.id, found.definition

    def version(self) -> int:
        table_id, _ = self._definition()
        with self.account.state.read() as state:
            visible = state.versions.visible(table_id)
        assert visible is not None
        return visible.version

    def counted(self) -> int:
        table_id, _ = self._definition()
        with self.account.state.read() as state:
            visible = state.versions.visible(table_id)
        assert visible is not None
        return visible.rows

    def content(self) -> Counter[Row]:
        _, definition = self._definition()
        found = self.account.store.read(definition.location, self.version())
        return Counter(_row(row) for row in found.to_pylist())

    def feed(self, after: int) -> Counter[Row]:
        """What the change feed adds and takes away after a version."""
        _, definition = self._definition()
        if self.version() == after:
            return Counter()
        changes = self.account.store.changes(definition.location, [(after + 1, self.version())]).read_all()
        net: Counter[Row] = Counter()
        for row in changes.to_pylist():
            net[_row(row)] += 1 if row["_change_type"] in ("insert", "update_postimage") else -1
        return net


def _row(row: dict[str, Any]) -> Row:
    document = row["V"]
    variant = None if document is None else decode(document["metadata"], document["value"])
    return (*(row[name] for name in COLUMNS[:-1]), variant)


@pytest.fixture(scope="module")
def place(account: Account) -> Iterator[tuple[Account, Session]]:
    session = account.session()
    session.execute(f"CREATE OR REPLACE DATABASE {_DATABASE}")
    yield account, session
    session.execute(f"DROP DATABASE {_DATABASE}")
    session.close()


def fill(session: Session, name: str, batches: list[list[Row]], *, tracked: bool = False) -> None:
    tracking = "CHANGE_TRACKING = TRUE" if tracked else ""
    session.execute(f"CREATE OR REPLACE TABLE {name} {_DDL} {tracking}")
    for batch in batches:
        if not batch:
            continue
        values = ", ".join("(" + ", ".join(_literal(value) for value in row) + ")" for row in batch)
        session.execute(
            f"INSERT INTO {name} SELECT column1::INT, column2::INT, column3::INT, column4, TO_VARIANT(column5::INT) "
            f"FROM VALUES {values}"
        )


def _literal(value: Any) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def run_and_compare(
    account: Account, session: Session, target: list[Row], source: list[Row], changes: list[Update | Delete | Merge],
    *, may_commit_nothing: bool = False,
) -> None:  # fmt: skip
    table = Table(account)
    for change in changes:
        note(change.sql)
        before, content = table.version(), table.content()
        try:
            effect = change.apply(target, source)
        except AmbiguousError:
            with pytest.raises(SnowmeltError) as failure:
                session.execute(change.sql)
            assert failure.value.code == "100090"
            assert (table.version(), table.content()) == (before, content)
            continue
        counts = session.execute(change.sql).rows()[0]
        assert counts == expected_counts(change, effect)
        if counts == (0,) * len(counts) and not may_commit_nothing:
            assert table.version() == before, "a statement that changed nothing made a commit"
        after = table.content()
        if effect.doubtful:
            assert after.total() == len(effect.rows)
            target = list(after.elements())
        else:
            assert after == multiset(effect.rows)
            target = effect.rows
        replayed = content.copy()
        for row, number in table.feed(before).items():
            replayed[row] += number
        assert {row: number for row, number in replayed.items() if number} == dict(after)
        assert table.counted() == after.total()


def expected_counts(change: Update | Delete | Merge, effect: Effect) -> tuple[int, ...]:
    if isinstance(change, Update):
        return effect.updated, effect.multi_joined
    if isinstance(change, Delete):
        return (effect.deleted,)
    kinds = {clause.kind for clause in change.clauses}
    numbers = {"insert": effect.inserted, "update": effect.updated, "delete": effect.deleted}
    return tuple(number for kind, number in numbers.items() if kind in kinds)


cases = st.fixed_dictionaries({
    "target": st.lists(st.lists(rows, max_size=5), min_size=1, max_size=2),
    "source": st.lists(rows, max_size=4),
    "changes": st.lists(statements, min_size=1, max_size=3),
})  # fmt: skip
slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


def check(
    place: tuple[Account, Session], case: dict[str, Any], *, tracked: bool = False, may_commit_nothing: bool = False
) -> None:
    """`may_commit_nothing`: Delta's own MERGE writes files anew where rows match and no clause applies to them."""
    account, session = place
    session.execute(f"USE SCHEMA {_DATABASE}.PUBLIC")
    fill(session, "t", case["target"], tracked=tracked)
    fill(session, "s", [case["source"]])
    target = [row for batch in case["target"] for row in batch]
    run_and_compare(account, session, target, case["source"], case["changes"], may_commit_nothing=may_commit_nothing)


Test = Callable[[tuple[Account, Session], dict[str, Any]], None]


def examples(number: int) -> Callable[[Test], Test]:
    """That many random cases. A failing one is small as it is: to shrink it takes longer than to find it."""

    def decorate(test: Test) -> Test:
        phases = [Phase.explicit, Phase.reuse, Phase.generate]
        return settings(max_examples=number, deadline=None, suppress_health_check=slow, phases=phases)(
            given(case=cases)(test)
        )

    return decorate


@pytest.fixture
def found_by_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_PROBED_FILES", -1)


@pytest.fixture
def by_spark_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local.LocalChange, "attempt", lambda self: None)


@examples(40)
def test_found_and_rewritten_here(place: tuple[Account, Session], case: dict[str, Any]) -> None:
    check(place, case)


@pytest.mark.usefixtures("found_by_spark")
@examples(15)
def test_found_by_spark_and_rewritten_here(place: tuple[Account, Session], case: dict[str, Any]) -> None:
    check(place, case)


@pytest.mark.usefixtures("by_spark_alone")
@examples(6)
def test_by_spark_alone(place: tuple[Account, Session], case: dict[str, Any]) -> None:
    check(place, case, may_commit_nothing=True)


@pytest.mark.usefixtures("by_spark_alone")
@examples(10)
def test_decided_by_spark_and_rewritten_here(place: tuple[Account, Session], case: dict[str, Any]) -> None:
    check(place, case, tracked=True)


@pytest.mark.slow
@examples(150)
def test_found_and_rewritten_here_for_long(place: tuple[Account, Session], case: dict[str, Any]) -> None:
    check(place, case)


@pytest.mark.slow
@pytest.mark.usefixtures("found_by_spark")
@examples(40)
def test_found_by_spark_and_rewritten_here_for_long(place: tuple[Account, Session], case: dict[str, Any]) -> None:
    check(place, case)


@pytest.mark.slow
@pytest.mark.usefixtures("by_spark_alone")
@examples(30)
def test_by_spark_alone_for_long(place: tuple[Account, Session], case: dict[str, Any]) -> None:
    check(place, case, may_commit_nothing=True)


@pytest.mark.slow
@pytest.mark.usefixtures("by_spark_alone")
@examples(80)
def test_decided_by_spark_and_rewritten_here_for_long(place: tuple[Account, Session], case: dict[str, Any]) -> None:
    check(place, case, tracked=True)

"""Tables of Snowmelt with the records' own columns, and dead letters that keep nothing personal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import snowmelt
from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load import (
    Batch,
    Chain,
    DeadLetterLoader,
    Extractor,
    Field,
    Flow,
    FollowSchema,
    ProtectColumns,
    Record,
    Rejected,
    TableLoader,
    run_flow,
)
from snowmelt.storage.variant import decode
from tests.extract_load.loading import records, rows, run


class Given(Extractor):
    """One batch."""

    def __init__(self, place: str, *found: Record, rejected: tuple[Rejected, ...] = ()) -> None:
        self.batch = Batch(found, place, "given", rejected=rejected)

    def extract(self, after: str | None) -> Iterator[Batch]:
        if after != self.batch.place:
            yield self.batch


def test_columns_are_added_where_the_schema_evolves(connection: snowmelt.Connection, tmp_path: Path) -> None:
    connection.execute("CREATE TABLE orders (id NUMBER(10, 0), amount NUMBER(12, 2))")
    follow = FollowSchema([Field("id", "NUMBER(10,0)"), Field("amount", "NUMBER(12,2)")])
    with closing(TableLoader(connection, "orders", "flow", "run", schema_evolution=True)) as loader:
        run_flow(Flow("flow", Given("1", {"id": 1, "amount": "1.50"}), loader, follow))
        run_flow(Flow("flow", Given("2", {"id": 2, "amount": "much", "colour": "red"}), loader, follow))
    found = sorted(rows(tmp_path / "data", "orders"), key=lambda row: row["ID"])
    assert [str(row["AMOUNT"]) for row in found] == ["1.50", "None"]
    assert (found[1]["COLOUR"], found[1]["AMOUNT__VARCHAR"]) == ("red", "much")
    with closing(TableLoader(connection, "orders", "other", "run")) as loader, pytest.raises(SnowmeltError):
        run_flow(Flow("flow", Given("3", {"id": 3, "size": 1}), loader))
    assert len(rows(tmp_path / "data", "orders")) == 2


@pytest.mark.parametrize("strategy", ["drop", "hash", "mask"])
def test_dead_letters_keep_nothing_personal(strategy: str, connection: snowmelt.Connection, tmp_path: Path) -> None:
    follow = FollowSchema([Field("id", nullable=False), Field("email")])
    protect = ProtectColumns(["email"], strategy)  # type: ignore[arg-type]
    unreadable = Rejected("no JSON", {"text": "1;ada@example.org"}, "line 2", readable=False)
    source = Given("1", {"id": None, "email": "ada@example.org"}, {"id": 1, "email": ["ada@example.org"]},
                   rejected=(unreadable,))  # fmt: skip
    result = run(connection, source, Chain(follow, protect))
    assert (result.rows, result.rejected) == (1, 2)
    kept = [decode(row["RECORD"]["metadata"], row["RECORD"]["value"]) for row in rows(tmp_path / "data", "letters")]
    assert "ada@" not in f"{kept} {records(tmp_path / 'data')}"
    assert {row["SOURCE_POSITION"] for row in rows(tmp_path / "data", "letters")} == {"record 1", "line 2"}


def test_a_batch_that_is_tried_again_has_its_letters_once(connection: snowmelt.Connection, tmp_path: Path) -> None:
    source = Given("1", {"id": 1}, rejected=(Rejected("no JSON", {"text": "x"}, "line 2", readable=False),))
    connection.execute("CREATE TABLE orders (id NUMBER)")

    class Stumbling(TableLoader):
        stumbled = False

        def load(self, batch: Batch, loaded_at: str) -> int:
            if not self.stumbled:
                self.stumbled = True
                raise SnowmeltError("000629", "57014", "for a moment", transient=True)
            return super().load(batch, loaded_at)

    with (
        closing(Stumbling(connection, "orders", "flow", "run")) as loader,
        closing(DeadLetterLoader(connection, "letters", "flow", "run")) as letters,
    ):
        assert run_flow(Flow("flow", source, loader, None, letters)).rows == 1
    assert len(rows(tmp_path / "data", "letters")) == len(rows(tmp_path / "data", "orders")) == 1


def test_without_a_table_for_them_dead_letters_stop_the_run(connection: snowmelt.Connection) -> None:
    connection.execute("CREATE TABLE orders (id NUMBER)")
    with closing(TableLoader(connection, "orders", "flow", "run")) as loader:
        flow = Flow("flow", Given("1", rejected=(Rejected("no JSON", {}, "line 2"),)), loader)
        with pytest.raises(SnowmeltError, match="line 2: no JSON"):
            run_flow(flow)
        assert loader.place() is None

"""Other columns: by a new schema alone, and by writing the rows anew."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from snowmelt.core import types
from snowmelt.core.errors import SnowmeltError
from snowmelt.state.model import Column
from snowmelt.storage.layout import StorageRoot
from snowmelt.storage.table import DeltaStore, Reshape
from tests.storage.support import COLUMNS, TAG, document, rows, small

AT = "db/s/t"
FIRST = Column(name="ID", type=types.INTEGER, nullable=False)
NAME = Column(name="NAME", type=types.VARCHAR)


@pytest.fixture
def table(tmp_path: Path) -> DeltaStore:
    """A table of two columns and two rows."""
    store = DeltaStore(StorageRoot(str(tmp_path / "tables")))
    store.create(AT, (FIRST, NAME), change_feed=True, tag=TAG)
    store.append(AT, small((1, "a"), (2, None)), TAG)
    return store


def _read(store: DeltaStore, version: int | None = None) -> list[dict[str, object]]:
    found = store.read(AT, store.latest_version(AT) if version is None else version)
    return sorted(found.to_pylist(), key=repr)


def test_a_new_column_is_null_in_old_rows_for_every_reader(table: DeltaStore) -> None:
    added = Column(name="SEEN", type=types.TIMESTAMP_NTZ, comment="when")
    result = table.set_columns(AT, (FIRST, NAME, added), TAG)
    assert result.version == 2 and result.files_added == 0
    assert [row["SEEN"] for row in _read(table)] == [None, None]
    assert list(_read(table, 1)[0]) == ["ID", "NAME"]
    elsewhere = DeltaTable(table.root.uri_of(AT))
    assert "timestampNtz" in (elsewhere.protocol().writer_features or [])
    assert elsewhere.schema().fields[2].metadata == {"comment": "when"}
    assert elsewhere.to_pyarrow_table().num_rows == 2
    commit = table.commits(AT, 1, 2)[0]
    assert commit.schema_change and not commit.data_change and commit.tag == TAG


def test_both_writers_go_on_after_a_new_column(table: DeltaStore) -> None:
    columns = (FIRST, NAME, Column(name="N", type=types.number(5, 1)))
    table.set_columns(AT, columns, TAG)
    table.append(AT, rows({"ID": 3, "N": Decimal("1.5")}, columns=columns), TAG)
    table.update(AT, {"N": "2.5"}, '"ID" = 1', TAG)
    assert [row["N"] for row in _read(table)] == [Decimal("2.5"), None, Decimal("1.5")]


def test_rows_are_written_anew_in_another_shape(table: DeltaStore) -> None:
    shape = Reshape(
        columns=(
            Column(name="LABEL", type=types.VARCHAR),
            Column(name="KEY", type=types.number(10, 0), nullable=False),
            Column(name="FLAG", type=types.BOOLEAN, nullable=False),
            Column(name="DOC", type=types.VARIANT),
        ),
        sources={"LABEL": "NAME", "KEY": "ID"},
        fills={"FLAG": True, "DOC": "z"},
    )
    result = table.reshape(AT, shape, TAG)
    assert (result.rows_inserted, result.files_removed) == (0, 1)
    found = _read(table)
    assert [(row["LABEL"], row["KEY"], row["FLAG"]) for row in found] == [("a", 1, True), (None, 2, True)]
    assert document(found[0]["DOC"]) == "z"  # type: ignore[arg-type]
    assert _read(table, 1) == [{"ID": 1, "NAME": "a"}, {"ID": 2, "NAME": None}]
    assert not table.commits(AT, 1, 2)[0].data_change
    assert table.row_count(AT, 2) == 2
    assert table.changes(AT, [(2, 2)]).read_all().num_rows == 0


def test_a_value_that_does_not_fit_changes_nothing(table: DeltaStore) -> None:
    table.append(AT, small((12345, "x")), TAG)
    narrow = Column(name="ID", type=types.number(3, 0), nullable=False)
    with pytest.raises((SnowmeltError, pa.ArrowInvalid)):
        table.reshape(AT, Reshape(columns=(narrow,), sources={"ID": "ID"}), TAG)
    assert table.latest_version(AT) == 2


def test_an_undone_change_of_columns_leaves_the_old_ones(table: DeltaStore) -> None:
    table.reshape(AT, Reshape(columns=(FIRST,), sources={"ID": "ID"}), TAG)
    restored = table.restore(AT, 1, TAG)
    assert _read(table, restored) == [{"ID": 1, "NAME": "a"}, {"ID": 2, "NAME": None}]
    assert table.append(AT, small((3, "c")), TAG).version == restored + 1


def test_every_kind_of_column_survives_a_rewrite(tmp_path: Path) -> None:
    store = DeltaStore(StorageRoot(str(tmp_path / "tables")))
    store.create(AT, COLUMNS, change_feed=True, tag=TAG)
    store.append(AT, rows({"ID": 1, "DOC": '{"a": [1, null]}', "AMOUNT": Decimal("1.25")}, {"ID": 2}), TAG)
    before = _read(store)
    wider = tuple(
        column.model_copy(update={"type": types.number(20, 2)}) if column.name == "AMOUNT" else column
        for column in COLUMNS
    )
    store.reshape(AT, Reshape(columns=wider, sources={column.name: column.name for column in COLUMNS}), TAG)
    assert _read(store) == before
    assert store.files(AT, 2).metadata.arrow_schema.field("AMOUNT").type == pa.decimal128(20, 2)


def test_an_empty_table_takes_any_shape(tmp_path: Path) -> None:
    store = DeltaStore(StorageRoot(str(tmp_path / "tables")))
    store.create(AT, (FIRST,), change_feed=False, tag=TAG)
    assert store.can_evolve(AT)
    store.reshape(AT, Reshape(columns=(NAME,), sources={}), TAG)
    assert _read(store) == [] and store.files(AT, 1).metadata.arrow_schema.names == ["NAME"]

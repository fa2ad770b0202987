"""What destinations hold, held against the table here: equal behind a load, and told as soon as somebody changes it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from deltalake import DeltaTable

import snowmelt
from snowmelt.extract_load import Batch, Field, make_loader
from snowmelt.extract_load.destinations.base import LoadStrategy
from snowmelt.extract_load.endpoints import Endpoint, endpoint_of
from snowmelt.extract_load.reconciling.destinations import compare_destination, compared_destination
from snowmelt.extract_load.reconciling.model import Reconciliation
from snowmelt.extract_load.records import Whole
from tests.support.postgres import empty_schema, postgres_url

__all__ = ["postgres_url"]
COLUMNS = {"id": "NUMBER(38,0)", "code": "VARCHAR", "amount": "NUMBER(12,2)", "at": "TIMESTAMP_NTZ", "note": "VARCHAR"}
CALLED = {"code": "kode"}
PAIRS = [(name, Field(CALLED.get(name, name), kind)) for name, kind in COLUMNS.items()]
RECORDS: list[dict[str, Any]] = [
    {"id": n, "kode": f"00{n}", "amount": f"{n}.50", "at": f"2024-01-0{1 + n % 3}T00:00:00", "note": None}
    for n in range(1, 8)
]  # fmt: skip


@pytest.fixture
def here(tmp_path: Path) -> snowmelt.Connection:
    opened = snowmelt.connect(tmp_path / "data")
    opened.execute("CREATE TABLE orders (id NUMBER, code VARCHAR, amount NUMBER(12,2), at TIMESTAMP_NTZ, note VARCHAR)")
    for row in RECORDS:
        opened.execute(
            f"INSERT INTO orders VALUES ({row['id']}, '{row['kode']}', {row['amount']}, '{row['at']}', NULL)"
        )
    return opened


def endpoint(kind: str, folder: Path, url: str) -> Endpoint:
    address = "${SINK}" if kind == "postgres" else str(folder / kind)
    return endpoint_of("sink", {"kind": kind, "address": address}, {"SINK": url})


def send(to: Endpoint, strategy: LoadStrategy, records: list[dict[str, Any]], key: tuple[str, ...]) -> None:
    fields = [field for _, field in PAIRS]
    loader = make_loader(to, "orders", "flow", "run", strategy=strategy, key=key, fields=fields)
    whole = Whole(1, last=True) if strategy is not LoadStrategy.UPSERT else None
    loader.load(Batch(records, "1", "test", whole=whole), datetime.now(UTC).isoformat())
    loader.close()


def found(
    to: Endpoint, strategy: LoadStrategy, key: tuple[str, ...], here: snowmelt.Connection
) -> Reconciliation:  # fmt: skip
    compared = compared_destination(to, "sink_orders", "orders", key, PAIRS, str(strategy))
    assert compared is not None
    return compare_destination(to, "orders", compared, PAIRS, here)


def spoil(kind: str, folder: Path, url: str) -> None:
    """Somebody takes a row away, changes one, and adds one."""
    if kind == "postgres":
        with psycopg.connect(url, autocommit=True) as sink:
            sink.execute("DELETE FROM orders WHERE id = 1")
            sink.execute("UPDATE orders SET amount = 99 WHERE id = 2")
            sink.execute("INSERT INTO orders (id, kode, amount) VALUES (77, '0077', 1)")
        return
    if kind == "delta":
        table = DeltaTable(str(folder / "delta" / "orders"))
        table.delete("id = 1")
        table.update(updates={"amount": "CAST(99 AS DECIMAL(12,2))"}, predicate="id = 2")
        table.update(updates={"id": "77"}, predicate="id = 3")
        return
    (path,) = (folder / kind / "orders").glob(f"*.{kind}")
    if kind == "csv":
        lines = path.read_text(encoding="utf-8").splitlines()
        changed = [line.replace("2.50", "99.00") for line in lines if '"001"' not in line]
        path.write_text("\n".join([*changed, changed[-1].replace("7", "77", 1)]) + "\n", encoding="utf-8")
        return
    table = pa.parquet.read_table(path)
    rows = table.to_pylist()
    rows[1]["amount"] = rows[1]["amount"] * 4
    pa.parquet.write_table(pa.Table.from_pylist([*rows[1:], {**rows[0], "id": 77}], table.schema), path)


@pytest.mark.parametrize(
    ("kind", "strategy", "breaches"),
    [
        ("postgres", LoadStrategy.UPSERT, 2), ("postgres", LoadStrategy.MERGE, 3),
        ("postgres", LoadStrategy.OVERWRITE, 3), ("delta", LoadStrategy.UPSERT, 3),
        ("parquet", LoadStrategy.OVERWRITE, 3), ("csv", LoadStrategy.OVERWRITE, 3),
    ],
)  # fmt: skip
def test_a_destination_is_held_to_the_table_here(
    kind: str, strategy: LoadStrategy, breaches: int, here: snowmelt.Connection, tmp_path: Path, postgres_url: str
) -> None:
    """A row that is gone and one that is another always count; one more only where all is written as a whole."""
    url = empty_schema(postgres_url)
    to = endpoint(kind, tmp_path, url)
    assert found(to, strategy, ("id",), here).breaches == len(RECORDS), "nothing was sent yet"
    send(to, strategy, RECORDS, ("id",))
    equal = found(to, strategy, ("id",), here)
    assert (equal.breaches, equal.source_rows, equal.table_rows, equal.days) == (0, 7, 7, ())
    spoil(kind, tmp_path, url)
    differing = found(to, strategy, ("id",), here)
    assert differing.breaches == breaches, differing.differences
    assert differing.differences[("1",)] == "missing" and differing.differences[("2",)] == "different"


@pytest.mark.parametrize(
    ("key", "load", "compares"),
    [(("kode",), "upsert", True), ((), "overwrite", True), (("at",), "upsert", True), ((), "append", False)],
)
def test_rows_are_told_apart_by_what_is_the_same_everywhere(
    key: tuple[str, ...], load: str, compares: bool, here: snowmelt.Connection, tmp_path: Path
) -> None:
    """A key with zeros before it is a text; where there is no such key, days are compared."""
    to = endpoint("csv", tmp_path, "")
    compared = compared_destination(to, "sink_orders", "orders", key, PAIRS, load)
    assert (compared is not None) == compares
    if compared is None:
        return
    send(to, LoadStrategy.OVERWRITE, RECORDS, ())
    assert compare_destination(to, "orders", compared, PAIRS, here).breaches == 0
    here.execute("UPDATE orders SET amount = 99 WHERE id = 2")
    differences = compare_destination(to, "orders", compared, PAIRS, here).differences
    assert differences == {("002",) if key == ("kode",) else ("2024-01-03",): "different"}


def test_what_an_application_took_is_not_read_back(tmp_path: Path) -> None:
    api: Callable[..., Endpoint] = endpoint
    assert compared_destination(api("api", tmp_path, ""), "f", "orders", ("id",), PAIRS, "upsert") is None

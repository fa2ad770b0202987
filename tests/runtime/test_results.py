"""Results with fewer rows than the query gave."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snowmelt.core import types
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.results import Result, ResultColumn, SpilledRows
from snowmelt.runtime.session import Session

COLUMNS = (ResultColumn("N", types.int64()),)


@pytest.mark.parametrize("most", [1, 4, 5, 6, 9, 10, 11])
@pytest.mark.parametrize("size", [1, 3, 100])
def test_the_first_rows(tmp_path: Path, most: int, size: int) -> None:
    data = pa.table({"c0": pa.array(range(10), pa.int64())})
    files = []
    for start in (0, 5):
        files.append(str(tmp_path / f"{start}.parquet"))
        pq.write_table(data.slice(start, 5), files[-1])
    held = Result(COLUMNS, data)
    spilled = Result(COLUMNS, data.slice(0, 0), spilled=SpilledRows(tuple(files), 10, data.nbytes))
    for result in (held.limited(most), spilled.limited(most)):
        found = [row for piece in result.slices(2, size) for row in piece.column(0).to_pylist()]
        assert found == list(range(min(most, 10)))
        assert result.row_count == min(most, 10)


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "TIMESTAMP_TZ"])
def test_a_year_that_no_client_can_hold_is_one_sentence(session: Session, kind: str) -> None:
    found = session.execute(f"SELECT DATEADD(year, 9000, '2024-01-01'::{kind}) AS d")
    with pytest.raises(SnowmeltError, match="Column D has a value beyond the years 1 to 9999"):
        found.rows()
    assert session.execute("SELECT DATEDIFF(year, '2024-01-01'::DATE, DATEADD(year, 9000, '2024-01-01'::DATE))").rows()

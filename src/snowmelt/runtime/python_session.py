"""What a procedure in Python gets as its session: the part of Snowpark's API that moves data through SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from snowmelt.core import errors
from snowmelt.core.names import quote, split_name
from snowmelt.runtime.results import Result

if TYPE_CHECKING:
    from snowmelt.runtime.session import Session

_MODES = {
    "overwrite": "CREATE OR REPLACE TABLE",
    "errorifexists": "CREATE TABLE",
    "ignore": "CREATE TABLE IF NOT EXISTS",
}


class Row(tuple[Any, ...]):
    """A row: values by position, by column name as `row["A"]`, and as `row.A` in any case."""

    _names: tuple[str, ...]

    def __new__(cls, values: Sequence[Any] = (), names: Sequence[str] = ()) -> Row:
        row = super().__new__(cls, values)
        row._names = tuple(names)
        return row

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            try:
                return super().__getitem__(self._index(key))
            except ValueError:
                raise KeyError(key) from None
        return super().__getitem__(key)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getitem__(self._index(name))
        except ValueError:
            raise AttributeError(f"This row has no column {name!r}.") from None

    def _index(self, name: str) -> int:
        return self._names.index(name if name in self._names else name.upper())

    def as_dict(self) -> dict[str, Any]:
        return dict(zip(self._names, self, strict=True))

    asDict = as_dict  # noqa: N815 - Snowpark has both spellings

    def __repr__(self) -> str:
        return f"Row({', '.join(f'{name}={value!r}' for name, value in self.as_dict().items())})"


class ProcedureFrame:
    """A statement that runs when its rows are asked for, each time anew."""

    def __init__(self, session: PythonSession, text: str, values: Sequence[Any] = ()) -> None:
        self._session = session
        self._text = text
        self._values = list(values)

    def result(self) -> Result:
        return self._session._execute(self._text, self._values)

    def collect(self) -> list[Row]:
        return list(self.to_local_iterator())

    def to_local_iterator(self) -> Iterator[Row]:
        result = self.result()
        names = [column.name for column in result.columns]
        return (Row(values, names) for values in result.shown().rows())

    def first(self) -> Row | None:
        return next(self.to_local_iterator(), None)

    def count(self) -> int:
        return int(self.result().data.num_rows)

    @property
    def columns(self) -> list[str]:
        return [quote(column.name) for column in self.result().columns]

    def to_arrow(self) -> pa.Table:
        result = self.result()
        return result.data.rename_columns([column.name for column in result.columns])

    def to_pandas(self) -> Any:
        """A pandas DataFrame; pandas must be installed."""
        return self.to_arrow().to_pandas()

    @property
    def write(self) -> DataFrameWriter:
        return DataFrameWriter(self)


class DataFrameWriter:
    def __init__(self, frame: ProcedureFrame) -> None:
        self._frame = frame
        self._mode = "errorifexists"

    def mode(self, mode: str) -> DataFrameWriter:
        self._mode = mode
        return self

    def save_as_table(self, table_name: str | Sequence[str], *, mode: str | None = None) -> None:
        """Writes the rows to a table: `append`, `overwrite`, `errorifexists` (the default) or `ignore`."""
        name = table_name if isinstance(table_name, str) else ".".join(table_name)
        chosen = (mode or self._mode).lower()
        frame = self._frame
        if chosen == "append":
            chosen = "errorifexists"
            if frame._session._has_table(name):
                return self._run("INSERT INTO IDENTIFIER(?)\n", name)
        if chosen not in _MODES:
            raise ValueError(f"There is no mode {chosen!r}: use append, overwrite, errorifexists or ignore.")
        return self._run(f"{_MODES[chosen]} IDENTIFIER(?) AS\n", name)

    def _run(self, head: str, name: str) -> None:
        frame = self._frame
        frame._session._execute(head + frame._text.strip().rstrip(";"), [name, *frame._values])


class PythonSession:
    """Runs SQL in the session that called the procedure, with the procedure's rights."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def sql(self, query: str, params: Sequence[Any] | None = None) -> ProcedureFrame:
        """A statement with `?` for each of the values. It runs at `collect` and its like."""
        return ProcedureFrame(self, query, params or ())

    def table(self, name: str | Sequence[str]) -> ProcedureFrame:
        return ProcedureFrame(self, "SELECT * FROM IDENTIFIER(?)", [name if isinstance(name, str) else ".".join(name)])

    def call(self, sproc_name: str, *args: Any) -> Any:
        """What the procedure returns: a value, or a list of rows for a table."""
        text = f"CALL IDENTIFIER(?)({', '.join('?' * len(args))})"
        result = self._execute(text, [sproc_name, *args])
        rows = result.rows()
        if len(result.columns) == 1 and len(rows) == 1:
            return rows[0][0]
        names = [column.name for column in result.columns]
        return [Row(values, names) for values in rows]

    def create_dataframe(self, data: Sequence[Any], schema: Sequence[str] | None = None) -> ProcedureFrame:
        """Rows given as sequences, dictionaries or single values; `schema` names the columns."""
        rows = [_values(item, schema) for item in data]
        if not rows:
            raise ValueError("create_dataframe needs at least one row.")
        names = schema or _names(data[0])
        if any(len(row) != len(names) for row in rows):
            raise ValueError(f"Every row must have {len(names)} value(s), one for each of {list(names)}.")
        marks = f"({', '.join('?' * len(names))})"
        columns = ", ".join(quote(_folded(name)) for name in names)
        text = f"SELECT * FROM VALUES {', '.join([marks] * len(rows))} AS T ({columns})"
        return ProcedureFrame(self, text, [value for row in rows for value in row])

    createDataFrame = create_dataframe  # noqa: N815 - Snowpark has both spellings

    def get_current_database(self) -> str | None:
        return _quoted(self._session.database)

    def get_current_schema(self) -> str | None:
        return _quoted(self._session.schema)

    def get_current_warehouse(self) -> str | None:
        return _quoted(self._session.warehouse)

    def get_current_role(self) -> str | None:
        return _quoted(self._session.role)

    def get_current_user(self) -> str | None:
        return _quoted(self._session.user)

    def _execute(self, text: str, values: Sequence[Any]) -> Result:
        script = self._session.script
        if self._session.running is not None:
            # Code that catches everything must stop all the same when its procedure is cancelled.
            self._session.running.check_cancelled()
        try:
            return self._session.execute(text, list(values) or None)
        finally:
            if script is not None and script.transactions is not None:
                script.transactions.resume(self._session)

    def _has_table(self, name: str) -> bool:
        try:
            self._execute("SELECT 1 FROM IDENTIFIER(?) LIMIT 0", [name])
        except errors.SnowmeltError as error:
            if error.code != "002003":
                raise
            return False
        return True


def _quoted(name: str | None) -> str | None:
    """Snowpark gives names in quotes."""
    return None if name is None else '"' + name.replace('"', '""') + '"'


def _folded(name: str) -> str:
    parts = split_name(name)
    return parts[0] if parts is not None and len(parts) == 1 else name


def _names(first: Any) -> Sequence[str]:
    if isinstance(first, Mapping):
        return [str(key) for key in first]
    if isinstance(first, Row):
        return first._names
    count = len(first) if isinstance(first, Sequence) and not isinstance(first, str) else 1
    return [f"_{number}" for number in range(1, count + 1)]


def _values(item: Any, schema: Sequence[str] | None) -> list[Any]:
    if isinstance(item, Mapping):
        return [item[name] for name in schema] if schema is not None else list(item.values())
    if isinstance(item, Sequence) and not isinstance(item, str):
        return list(item)
    return [item]

"""What a procedure gets as its session where Snowpark is not installed: the part of its API that moves data by SQL.

Nothing but Python's own modules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from snowmelt.engine.code.procedures.asking import Asking, SQLError
from snowmelt.engine.code.procedures.texts import bind, value_of

_MODES = {
    "overwrite": "CREATE OR REPLACE TABLE",
    "errorifexists": "CREATE TABLE",
    "ignore": "CREATE TABLE IF NOT EXISTS",
}
_PLAIN = re.compile(r"[A-Z_][A-Z0-9_$]*")


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


class SmallResult:
    """The rows of one statement."""

    def __init__(self, data: dict[str, Any], zone: str) -> None:
        self.query_id = data.get("queryId")
        self.columns = data["rowtype"]
        self.names = [column["name"] for column in self.columns]
        self.rows = [
            [value_of(column, text, zone) for column, text in zip(self.columns, row, strict=True)]
            for row in data["rowset"]
        ]


class SmallFrame:
    """A statement that runs when its rows are asked for, each time anew."""

    def __init__(self, session: SmallSession, text: str, values: Sequence[Any] = ()) -> None:
        self._session = session
        self._text = text
        self._values = list(values)

    def returned(self) -> str | None:
        """The query that has the rows, for the procedure's caller."""
        return self._session._execute(self._text, self._values, keep=True).query_id

    def collect(self) -> list[Row]:
        return list(self.to_local_iterator())

    def to_local_iterator(self) -> Iterator[Row]:
        result = self._session._execute(self._text, self._values)
        return (Row(values, result.names) for values in result.rows)

    def first(self) -> Row | None:
        return next(self.to_local_iterator(), None)

    def count(self) -> int:
        return len(self._session._execute(self._text, self._values).rows)

    @property
    def columns(self) -> list[str]:
        names = self._session._execute(self._text, self._values).names
        return [name if _PLAIN.fullmatch(name) else _quoted(name) or "" for name in names]

    def to_pandas(self) -> Any:
        """A pandas DataFrame; pandas must be installed."""
        result = self._session._execute(self._text, self._values)
        return import_module("pandas").DataFrame(result.rows, columns=result.names)

    def to_arrow(self) -> Any:
        """A table of Arrow; pyarrow must be installed."""
        result = self._session._execute(self._text, self._values)
        columns = list(zip(*result.rows, strict=True)) or [()] * len(result.names)
        arrow = import_module("pyarrow")
        return arrow.table([arrow.array(list(values)) for values in columns], names=result.names)

    @property
    def write(self) -> DataFrameWriter:
        return DataFrameWriter(self)


class DataFrameWriter:
    def __init__(self, frame: SmallFrame) -> None:
        self._frame = frame
        self._mode = "errorifexists"

    def mode(self, mode: str) -> DataFrameWriter:
        self._mode = mode
        return self

    def save_as_table(self, table_name: str | Sequence[str], *, mode: str | None = None) -> None:
        """Writes the rows to a table: `append`, `overwrite`, `errorifexists` (the default) or `ignore`."""
        name = table_name if isinstance(table_name, str) else ".".join(table_name)
        chosen = (mode or self._mode).lower()
        if chosen == "append":
            chosen = "errorifexists"
            if self._frame._session._has_table(name):
                return self._run("INSERT INTO IDENTIFIER(?)\n", name)
        if chosen not in _MODES:
            raise ValueError(f"There is no mode {chosen!r}: use append, overwrite, errorifexists or ignore.")
        return self._run(f"{_MODES[chosen]} IDENTIFIER(?) AS\n", name)

    def _run(self, head: str, name: str) -> None:
        frame = self._frame
        frame._session._execute(head + frame._text.strip().rstrip(";"), [name, *frame._values])


class SmallSession:
    """Runs SQL in the session that called the procedure, with the procedure's rights."""

    def __init__(self, asking: Asking, names: Mapping[str, str | None]) -> None:
        self._asking = asking
        self._zone = str(names["zone"])

    def sql(self, query: str, params: Sequence[Any] | None = None) -> SmallFrame:
        """A statement with `?` for each of the values. It runs at `collect` and its like."""
        return SmallFrame(self, query, params or ())

    def table(self, name: str | Sequence[str]) -> SmallFrame:
        return SmallFrame(self, "SELECT * FROM IDENTIFIER(?)", [name if isinstance(name, str) else ".".join(name)])

    def call(self, sproc_name: str, *args: Any) -> Any:
        """What the procedure returns: a value, or a list of rows for a table."""
        result = self._execute(f"CALL IDENTIFIER(?)({', '.join('?' * len(args))})", [sproc_name, *args])
        if len(result.names) == 1 and len(result.rows) == 1:
            return result.rows[0][0]
        return [Row(values, result.names) for values in result.rows]

    def create_dataframe(self, data: Sequence[Any], schema: Sequence[str] | None = None) -> SmallFrame:
        """Rows given as sequences, dictionaries or single values; `schema` names the columns."""
        rows = [_values(item, schema) for item in data]
        if not rows:
            raise ValueError("create_dataframe needs at least one row.")
        names = schema or _names(data[0])
        if any(len(row) != len(names) for row in rows):
            raise ValueError(f"Every row must have {len(names)} value(s), one for each of {list(names)}.")
        marks = f"({', '.join('?' * len(names))})"
        columns = ", ".join(name if name.startswith('"') else _quoted(name.upper()) or "" for name in names)
        text = f"SELECT * FROM VALUES {', '.join([marks] * len(rows))} AS T ({columns})"
        return SmallFrame(self, text, [value for row in rows for value in row])

    createDataFrame = create_dataframe  # noqa: N815 - Snowpark has both spellings

    def get_current_database(self) -> str | None:
        return self._current("DATABASE")

    def get_current_schema(self) -> str | None:
        return self._current("SCHEMA")

    def get_current_warehouse(self) -> str | None:
        return self._current("WAREHOUSE")

    def get_current_role(self) -> str | None:
        return self._current("ROLE")

    def get_current_user(self) -> str | None:
        return self._current("USER")

    def _current(self, what: str) -> str | None:
        return _quoted(self._execute(f"SELECT CURRENT_{what}()", []).rows[0][0])

    def _execute(self, text: str, values: Sequence[Any], *, keep: bool = False) -> SmallResult:
        bindings = {str(number): bind(value) for number, value in enumerate(values, 1)}
        data = self._asking.data({"sqlText": text, "bindings": bindings, "keep": keep})
        return SmallResult(data, self._zone)

    def _has_table(self, name: str) -> bool:
        try:
            self._execute("SELECT 1 FROM IDENTIFIER(?) LIMIT 0", [name])
        except SQLError as error:
            if error.code != "002003":
                raise
            return False
        return True


def _quoted(name: str | None) -> str | None:
    """Snowpark gives names in quotes."""
    return None if name is None else '"' + name.replace('"', '""') + '"'


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

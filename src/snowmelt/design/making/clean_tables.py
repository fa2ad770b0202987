"""The SQL of clean tables: typed, each row once, and nothing that is gone from the source."""

from __future__ import annotations

import re
from dataclasses import dataclass

from snowmelt.core.names import literal, quote
from snowmelt.design.requirements.model import DescribedColumn, PiiStrategy, Table

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ROW = "COALESCE(after, before)"
"""Where the key of a change is: a deleted row has it in `before` alone."""
_TYPED = (
    "NUMBER", "INT", "INTEGER", "BIGINT", "SMALLINT", "DECIMAL", "NUMERIC", "FLOAT", "DOUBLE", "REAL", "BOOLEAN",
    "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "TIMESTAMP_TZ", "DATETIME",
)  # fmt: skip
"""Types that not every text is a value of."""


@dataclass(frozen=True, slots=True)
class Clean:
    name: str
    raw: str
    """The table that it reads."""
    table: Table
    """What it is in the source, as `as_landed` has it."""
    options: str
    """Of the dynamic table, as SQL."""

    @property
    def keys(self) -> str:
        return ", ".join(map(self.here, self.table.key))

    def here(self, column: str) -> str:
        """The name of a column of the source in this table, as SQL spells it."""
        return named(column_of(self.table, column).here)


def as_landed(table: Table, strategy: PiiStrategy | None) -> Table:
    """A table as its raw table has it: personal data is hidden on the way, and what is hidden is a text."""
    if strategy is None or not any(column.pii for column in table.columns):
        return table
    hidden = strategy in (PiiStrategy.HASH, PiiStrategy.MASK, PiiStrategy.TOKENISE)
    columns = tuple(
        column.model_copy(update={"type": "VARCHAR"}) if column.pii and hidden else column
        for column in table.columns if not (column.pii and strategy is PiiStrategy.DROP)
    )  # fmt: skip
    return table.model_copy(update={"columns": columns})


def as_called(table: Table) -> Table:
    """A table as its clean table has it, by the names that its columns have here."""
    here = {column.name: column.here for column in table.columns}
    columns = tuple(column.model_copy(update={"name": column.here, "called": None}) for column in table.columns)
    change = table.change_column
    return table.model_copy(update={
        "columns": columns, "key": tuple(here.get(name, name) for name in table.key),
        "change_column": here.get(change, change) if change is not None else None,
        "references": {here.get(name, name): other for name, other in table.references.items()},
    })  # fmt: skip


def named(column: str) -> str:
    """A column of a source as SQL spells it here: folded where it is a plain word, quoted where not."""
    return quote(column.upper()).lower() if _WORD.fullmatch(column) else quote(column)


# -- from records -----------------------------------------------------------------------------------------------------


def of_records(clean: Clean, *, whole: bool) -> str:
    """The newest record of each key. What comes twice is the same row.

    Of a source that is read as a whole, the newest reading that is complete: what is not in it is gone.
    """
    listed = ",\n  ".join([*typed_columns(clean, "record"), "loaded_at"])
    query = f"SELECT\n  {listed}\nFROM {clean.raw}"
    if whole:
        newest = f"SELECT MAX(reading) FROM {clean.raw} WHERE record IS NULL"
        query += f"\nWHERE record IS NOT NULL AND reading = ({newest})"
    if clean.table.key:
        keys = ", ".join(value_of("record", column_of(clean.table, name)) for name in clean.table.key)
        change = clean.table.change_column
        order = f"{value_of('record', column_of(clean.table, change))} DESC, " if change is not None else ""
        if whole and change is None:
            order = "reading DESC, "
        query += f"\nQUALIFY ROW_NUMBER() OVER (PARTITION BY {keys} ORDER BY {order}loaded_at DESC) = 1"
    return f"CREATE DYNAMIC TABLE {clean.name}{clean.options}\nAS\n{query}"


def versions_of_records(clean: Clean) -> str:
    """Versions, each with its time of validity. A record that differs in its change column alone is no version."""
    return _scd_of_records(clean, 2, _untracked(clean))


def newest_of_records(clean: Clean) -> str:
    """SCD type 1: the newest values of each key."""
    return _scd_of_records(clean, 1, "")


def _scd_of_records(clean: Clean, kind: int, untracked: str) -> str:
    change = clean.table.change_column
    columns = [*typed_columns(clean, "record"), "loaded_at AS _loaded_at"]
    order = "_loaded_at"
    if change is not None:
        columns.append(f"{value_of('record', column_of(clean.table, change))} AS _changed_at")
        order = "_changed_at, _loaded_at"
    body = ",\n    ".join(columns)
    return f"""\
CREATE SCD TYPE {kind} TABLE {clean.name}
  KEY ({clean.keys})
  SEQUENCE BY {order}{untracked}{clean.options}
FROM (
  SELECT
    {body}
  FROM {clean.raw}
)"""


def versions_of_readings(clean: Clean) -> str:
    """A version lasts from the reading that found it to the one that found another, or none."""
    columns = typed_columns(clean, "record")
    names = names_of(columns)
    found = ",\n      ".join([*columns, "reading AS _reading"])
    return f"""\
CREATE SCD TYPE 2 TABLE {clean.name}
  KEY ({clean.keys})
  SEQUENCE BY _read_at
  DELETE WHEN _gone{_untracked(clean)}{clean.options}
FROM (
  WITH readings AS (
    SELECT
      reading AS _complete,
      loaded_at AS _read_at,
      LAG(reading) OVER (PARTITION BY origin ORDER BY reading) AS _before
    FROM {clean.raw}
    WHERE record IS NULL
  ),
  found AS (
    SELECT
      {found}
    FROM {clean.raw}
    WHERE record IS NOT NULL
  ),
  known AS (
    SELECT
      {names}, _reading, _read_at,
      LEAD(_reading) OVER (PARTITION BY {clean.keys} ORDER BY _reading) AS _next
    FROM found JOIN readings ON _complete = _reading
  )
  SELECT {names}, _read_at, FALSE AS _gone FROM known
  UNION ALL
  SELECT {names}, readings._read_at, TRUE
  FROM known JOIN readings ON _before = _reading
  WHERE _next IS NULL OR _next > _complete
)"""


def _untracked(clean: Clean) -> str:
    change = clean.table.change_column
    return f"\n  TRACK EXCEPT ({clean.here(change)})" if change is not None else ""


# -- from a log -------------------------------------------------------------------------------------------------------

_EVENT = ("operation AS _operation", "change_number AS _change_number")


def of_log(clean: Clean) -> str:
    """The state after all changes, in the order of CHANGE_NUMBER, whatever their times say.

    Nothing from before a TRUNCATE counts; a snapshot that is taken once more begins with one.
    """
    listed = ",\n    ".join([*typed_columns(clean, "after"), *_EVENT])
    return f"""\
CREATE SCD TYPE 1 TABLE {clean.name}
  KEY ({clean.keys})
  SEQUENCE BY _change_number
  DELETE WHEN _operation = 'DELETE'{clean.options}
FROM (
  SELECT
    {listed}
  FROM {clean.raw} AS changes
  WHERE table_name = {in_log(clean)} AND operation <> 'TRUNCATE'{readable(clean, "    ")}
    AND NOT EXISTS (
      SELECT 1 FROM {clean.raw} AS emptied
      WHERE emptied.table_name = changes.table_name AND emptied.operation = 'TRUNCATE'
        AND emptied.change_number > changes.change_number
    )
)"""


def versions_of_log(clean: Clean) -> str:
    """A TRUNCATE ends the life of every row before it, but of those that a snapshot which it begins finds again.

    The time of a row that a snapshot reads is when it was read, by which time it may have changed: no change
    happened later than those of its row behind it.
    """
    columns = typed_columns(clean, "after")
    names = names_of(columns)
    typed = ",\n      ".join([*columns, *_EVENT, "ts_ms AS _ms", "table_name AS _table"])
    of_row = f"PARTITION BY {clean.keys} ORDER BY _change_number"
    return f"""\
CREATE SCD TYPE 2 TABLE {clean.name}
  KEY ({clean.keys})
  SEQUENCE BY _changed_at, _change_number
  DELETE WHEN _operation = 'DELETE'{clean.options}
FROM (
  WITH typed AS (
    SELECT
      {typed}
    FROM {clean.raw}
    WHERE table_name = {in_log(clean)} AND operation <> 'TRUNCATE'{readable(clean, "      ")}
  ),
  changes AS (
    SELECT
      {names}, _operation, _change_number, _table,
      TO_TIMESTAMP_LTZ(MIN(_ms) OVER ({of_row} DESC), 3) AS _changed_at,
      LEAD(_change_number) OVER ({of_row}) AS _next_number,
      LEAD(_operation) OVER ({of_row}) AS _next_operation
    FROM typed
  ),
  emptied AS (
    SELECT table_name AS _emptied, change_number AS _emptied_by, TO_TIMESTAMP_LTZ(ts_ms, 3) AS _emptied_at
    FROM {clean.raw}
    WHERE table_name = {in_log(clean)} AND operation = 'TRUNCATE'
  )
  SELECT {names}, _operation, _change_number, _changed_at FROM changes
  UNION ALL
  SELECT {names}, 'DELETE', _emptied_by, _emptied_at
  FROM changes JOIN emptied ON _emptied = _table AND _emptied_by > _change_number
  WHERE _next_number IS NULL OR (_emptied_by < _next_number AND _next_operation <> 'READ')
)"""


def changes_of_log(clean: Clean) -> str:
    """The changes themselves, for a table without a key: nothing tells which row changed."""
    listed = ",\n  ".join([*typed_columns(clean, "after"), *_EVENT, "TO_TIMESTAMP_LTZ(ts_ms, 3) AS _changed_at"])
    return f"""\
CREATE DYNAMIC TABLE {clean.name}{clean.options}
AS
SELECT
  {listed}
FROM {clean.raw}
WHERE table_name = {in_log(clean)} AND operation <> 'TRUNCATE'{readable(clean, "  ")}"""


def in_log(clean: Clean) -> str:
    """The table's name as a connector writes it into TABLE_NAME."""
    return literal(name_in_log(clean.table.name))


def name_in_log(table: str) -> str:
    return table if "." in table else f"public.{table}"


# -- columns ----------------------------------------------------------------------------------------------------------


def typed_columns(clean: Clean, record: str) -> list[str]:
    """The columns; where they are not known, the key and the change column, and the record as it came."""
    table = clean.table
    known = {column.name for column in table.columns}
    named_only = [
        DescribedColumn(name=name) for name in (*table.key, table.change_column) if name and name not in known
    ]
    found = []
    for column in (*named_only, *table.columns):
        container = _ROW if record == "after" and column.name in table.key else record
        found.append(f"{value_of(container, column)} AS {named(column.here)}")
    return found if table.columns else [*found, "record" if record == "record" else f"{record} AS record"]


def names_of(columns: list[str]) -> str:
    return ", ".join(text.rpartition(" AS ")[2] for text in columns)


def column_of(table: Table, name: str) -> DescribedColumn:
    return next((column for column in table.columns if column.name == name), DescribedColumn(name=name))


def value_of(record: str, column: DescribedColumn) -> str:
    path = column.name if _WORD.fullmatch(column.name) else quote(column.name)
    if record != "record" and _may_be_wrong(column):
        # A source's log brings whatever its columns hold by then: what is not of the type must not stop the rest.
        return f"TRY_CAST({record}:{path}::VARCHAR AS {column.type})"
    return f"{record}:{path}::{column.type}"


def _may_be_wrong(column: DescribedColumn) -> bool:
    return column.type.upper().partition("(")[0] in _TYPED


def unreadable(table: Table) -> str | None:
    """The condition under which a change of a log can't be read as its columns say; None where every change can."""
    wrong = []
    for column in table.columns:
        if not _may_be_wrong(column):
            continue
        record = _ROW if column.name in table.key else "after"
        path = column.name if _WORD.fullmatch(column.name) else quote(column.name)
        wrong.append(f"({record}:{path}::VARCHAR IS NOT NULL AND {value_of(record, column)} IS NULL)")
    return " OR ".join(wrong) or None


def readable(clean: Clean, indent: str) -> str:
    wrong = unreadable(clean.table)
    return f"\n{indent}AND NOT ({wrong})" if wrong else ""

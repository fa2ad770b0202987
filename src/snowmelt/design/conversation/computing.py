"""Transformations in a few words, as SQL over the clean tables: `sum of amount by customer`, `orders per day`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from snowmelt.design.conversation.answers import column_named, singular
from snowmelt.design.conversation.state import NotUnderstoodError
from snowmelt.design.making.clean_tables import named

_FUNCTIONS = {
    "sum": "SUM", "total": "SUM", "count": "COUNT", "number": "COUNT", "how many": "COUNT", "average": "AVG",
    "avg": "AVG",
    "mean": "AVG", "maximum": "MAX", "max": "MAX", "highest": "MAX", "latest": "MAX", "minimum": "MIN", "min": "MIN",
    "lowest": "MIN",
}  # fmt: skip
_PERIODS = {"day": "day", "days": "day", "week": "week", "weeks": "week", "month": "month", "months": "month",
            "hour": "hour", "hours": "hour", "year": "year", "years": "year", "date": "day"}  # fmt: skip
_SAID = re.compile(
    r"(?:the\s+)?(?P<function>" + "|".join(_FUNCTIONS) + r")\s+(?:of\s+)?(?:the\s+|all\s+)?(?P<what>[\w ]+?)"
    r"\s+(?:by|per|for each|for every|grouped by)\s+(?P<by>[\w ,]+?)(?:\s+(?:from|in|of)\s+(?P<table>\w+))?\s*\.?",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"(?P<what>[\w ]+?)\s+(?:by|per)\s+(?P<by>[\w ,]+?)\s*\.?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CleanTable:
    """A clean table as a transformation may read it."""

    name: str
    columns: Mapping[str, str]
    """With their types."""
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Computed:
    sql: str
    key: tuple[str, ...]


def is_query(answer: str) -> bool:
    return re.match(r"\s*(select|with)\b", answer, re.IGNORECASE) is not None


def over_clean_tables(sql: str, tables: Sequence[CleanTable]) -> str:
    """A query that names the source's tables, over the clean ones."""
    for table in tables:
        plain = table.name.removeprefix("stg_")
        sql = re.sub(rf"(?i)\b(from|join)\s+(?:\w+\.)?{re.escape(plain)}\b", rf"\1 {table.name}", sql)
    return sql.strip().rstrip(";")


def computed(answer: str, tables: Sequence[CleanTable], output: str) -> Computed:
    """Raises NotUnderstoodError, saying what is missing."""
    said = _SAID.fullmatch(answer.strip()) or _PLAIN.fullmatch(answer.strip())
    if said is None:
        raise NotUnderstoodError(
            f"I don't know how to compute '{answer}': write `sum of amount by customer`, or a SELECT."
        )
    parts = said.groupdict()
    table, value = _measured(parts, tables, output)
    groups = [_group(word.strip(), table, tables) for word in re.split(r",|\band\b", parts["by"]) if word.strip()]
    joins = dict.fromkeys(group.join for group in groups if group.join is not None)
    columns = ", ".join([*(group.sql for group in groups), value])
    query = f"SELECT {columns}\nFROM {table.name} AS t{''.join(joins)}\nGROUP BY {', '.join(g.grouped for g in groups)}"
    return Computed(query, tuple(group.name for group in groups))


def said_in(description: str, tables: Sequence[CleanTable], output: str) -> str | None:
    """What a description says is computed, in words that `computed` takes: the first that fits the tables."""
    for clause in re.split(r"[.;:,\n]", description)[:_MOST_CLAUSES]:
        words = clause.split()[:_MOST_WORDS]
        starts = [at for at, word in enumerate(words) if word.lower() in _FUNCTIONS]
        for said in (" ".join(words[start:end]) for start in starts for end in range(len(words), start + 2, -1)):
            try:
                computed(said, tables, output)
            except NotUnderstoodError:
                continue
            return said
    return None


_MOST_CLAUSES, _MOST_WORDS = 50, 30


def _measured(parts: dict[str, str | None], tables: Sequence[CleanTable], output: str) -> tuple[CleanTable, str]:
    what = (parts["what"] or "").strip()
    function = _FUNCTIONS[str(parts["function"]).lower()] if parts.get("function") else None
    named_table = parts.get("table")
    among = [table for table in tables if named_table is None or _is_called(table, named_table)] or list(tables)
    counted = next((table for table in among if _is_called(table, what)), None)
    if counted is not None and function in (None, "COUNT"):
        return counted, f"COUNT(*) AS {_alias(output, f'{singular(what)}_count')}"
    for table in among:
        column = column_named(what, list(table.columns))
        if column is not None:
            return table, f"{function or 'SUM'}(t.{named(column)}) AS {_alias(output, column)}"
    known = "; ".join(f"{table.name}: {', '.join(table.columns)}" for table in tables)
    raise NotUnderstoodError(f"No table has a column for '{what}'. There are {known or 'no columns yet'}.")


def _is_called(table: CleanTable, word: str) -> bool:
    plain = word.strip().lower().replace(" ", "_")
    return plain in (table.name, table.name.removeprefix("stg_")) or singular(plain) == singular(
        table.name.removeprefix("stg_")
    )


def _alias(output: str, column: str) -> str:
    """The name of the measure: the table's name, if that is one word for it."""
    return re.sub(r"\W+", "_", output if output and "_by_" not in output else column).lower()


@dataclass(frozen=True, slots=True)
class _Group:
    name: str
    sql: str
    grouped: str
    join: str | None = None


def _group(word: str, table: CleanTable, tables: Sequence[CleanTable]) -> _Group:
    if word.lower() in _PERIODS and word.lower() not in table.columns:
        return _period(_PERIODS[word.lower()], table)
    column = column_named(word, list(table.columns))
    if column is not None:
        return _Group(column, f"t.{named(column)}", f"t.{named(column)}")
    for index, other in enumerate(tables):
        column = column_named(word, list(other.columns))
        link = _link(table, other)
        if other.name != table.name and column is not None and link is not None:
            alias = f"t{index}"
            join = f"\nLEFT JOIN {other.name} AS {alias} ON {alias}.{named(link[1])} = t.{named(link[0])}"
            return _Group(column, f"{alias}.{named(column)}", f"{alias}.{named(column)}", join)
    raise NotUnderstoodError(f"{table.name} has no column for '{word}': there are {', '.join(table.columns)}.")


def _period(period: str, table: CleanTable) -> _Group:
    times = [name for name, type_ in table.columns.items() if type_.startswith(("TIMESTAMP", "DATE"))]
    if not times:
        raise NotUnderstoodError(f"{table.name} has no date or time column, so rows can't be grouped by {period}.")
    created = next((name for name in times if "update" not in name and "modif" not in name), times[0])
    sql = f"DATE_TRUNC('{period}', t.{named(created)})"
    return _Group(period, f"{sql} AS {named(period)}", sql)


def _link(table: CleanTable, other: CleanTable) -> tuple[str, str] | None:
    """The columns by which one table names rows of another."""
    if len(other.key) != 1:
        return None
    key = other.key[0]
    for name in (
        key,
        f"{singular(other.name.removeprefix('stg_'))}_{key}",
        f"{singular(other.name.removeprefix('stg_'))}_id",
    ):
        if name in table.columns and (name != "id"):
            return name, key
    return None

"""The shape of the published tables: a star, a snowflake, one big table, or a vault.

Made from what the requirements say of the sources' tables: keys, columns, and which column holds the key of which
other table. A table that no other refers to is a fact; those that are referred to are dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from snowmelt.core.names import literal
from snowmelt.design.deciding import DesignDecisions
from snowmelt.design.making.clean_tables import named
from snowmelt.design.making.stages import Landed, landed
from snowmelt.design.requirements.model import PiiStrategy, Requirements, Transformation

_PREFIX = "stg_"


def with_shape(given: Requirements, verdict: DesignDecisions) -> Requirements:
    """The requirements with the tables of the shape that was asked for, beside those that were described."""
    make = _SHAPES.get(verdict.outcome("schema shape") or "")
    if make is None:
        return given
    made = tuple(make(_Tables(given, verdict)))
    return given.model_copy(update={"transformations": (*given.transformations, *made)})


class _Tables:
    """The clean tables, and who refers to whom."""

    def __init__(self, given: Requirements, verdict: DesignDecisions) -> None:
        self.items = landed(given, verdict)
        self.by_name = {item.table.name: item for item in self.items}
        self.dropped = given.pii is not None and given.pii.strategy is PiiStrategy.DROP
        referred = {name for item in self.items for name in item.here.references.values()}
        self.dimensions = [item for item in self.items if item.table.name in referred]
        self.facts = [item for item in self.items if item.table.name not in referred]

    def columns(self, item: Landed) -> list[str]:
        return [named(column.name) for column in item.here.columns if not (column.pii and self.dropped)]

    def references(self, item: Landed) -> Iterator[tuple[str, Landed]]:
        for column, name in item.here.references.items():
            if name in self.by_name:
                yield named(column), self.by_name[name]


def _word(item: Landed) -> str:
    return item.clean.removeprefix(_PREFIX)


def _key(item: Landed) -> str:
    return named(item.here.key[-1])


def _flat(tables: _Tables, item: Landed, alias: str, seen: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Columns and joins of all that an item refers to, with the name of each table before its columns."""
    columns: list[str] = []
    joins: list[str] = []
    for column, other in tables.references(item):
        word = _word(other)
        if word in seen:
            continue
        joins.append(f"LEFT JOIN {other.clean} AS {word} ON {word}.{_key(other)} = {alias}.{column}")
        columns += [
            f"{word}.{name} AS {word}_{name.strip(chr(34))}" for name in tables.columns(other) if name != _key(other)
        ]
        further, deeper = _flat(tables, other, word, (*seen, word))
        columns += further
        joins += deeper
    return columns, joins


def _select(item: Landed, columns: Sequence[str], joins: Sequence[str] = ()) -> str:
    listed = ",\n  ".join(columns)
    return "\n".join([f"SELECT\n  {listed}\nFROM {item.clean} AS {_word(item)}", *joins])


def _own(tables: _Tables, item: Landed) -> list[str]:
    return [f"{_word(item)}.{name}" for name in tables.columns(item)]


def _table(name: str, item: Landed, sql: str, about: str) -> Transformation:
    return Transformation(name=name, sql=sql, key=item.here.key, description=about)


def _facts(tables: _Tables) -> Iterator[Transformation]:
    for item in tables.facts:
        about = f"One row for each row of {item.table.name}, with the keys of its dimensions."
        yield _table(f"fact_{_word(item)}", item, _select(item, _own(tables, item)), about)


def _star(tables: _Tables) -> Iterator[Transformation]:
    """Each dimension is one table: what it refers to is in it."""
    for item in tables.dimensions:
        columns, joins = _flat(tables, item, _word(item))
        sql = _select(item, [*_own(tables, item), *columns], joins)
        yield _table(f"dim_{_word(item)}", item, sql, f"One row for each of {item.table.name}, with all it refers to.")
    yield from _facts(tables)


def _snowflake(tables: _Tables) -> Iterator[Transformation]:
    """Dimensions refer to dimensions, as the source has them."""
    for item in tables.dimensions:
        sql = _select(item, _own(tables, item))
        yield _table(f"dim_{_word(item)}", item, sql, f"One row for each of {item.table.name}.")
    yield from _facts(tables)


def _one_big_table(tables: _Tables) -> Iterator[Transformation]:
    for item in tables.facts:
        columns, joins = _flat(tables, item, _word(item))
        sql = _select(item, [*_own(tables, item), *columns], joins)
        yield _table(f"obt_{_word(item)}", item, sql, f"One row for each row of {item.table.name}, with all of it.")


def _vault(tables: _Tables) -> Iterator[Transformation]:
    """Hubs for keys, links for references, satellites for what changes, each version of it."""
    for item in tables.items:
        word, keys = _word(item), ", ".join(map(named, item.here.key))
        hashed = _hashed(item.here.key)
        yield Transformation(
            name=f"hub_{word}", key=(f"{word}_hk",), description=f"One row for each key of {item.table.name}.",
            sql=f"SELECT\n  {hashed} AS {word}_hk,\n  {keys},\n  MIN(valid_from) AS load_date,\n"
            f"  {literal(item.source.name)} AS record_source\nFROM {item.clean}\nGROUP BY {keys}",
        )  # fmt: skip
        kept = [name for name in tables.columns(item) if name not in set(map(named, item.here.key))]
        kept = [name for name in kept if name not in {column for column, _ in tables.references(item)}]
        listed = "".join(f"  {name},\n" for name in kept)
        yield Transformation(
            name=f"sat_{word}", key=(f"{word}_hk", "load_date"), description=f"Every version of {item.table.name}.",
            sql=f"SELECT\n  {hashed} AS {word}_hk,\n{listed}  valid_from AS load_date,\n"
            f"  valid_to AS load_end_date\nFROM {item.clean}",
        )  # fmt: skip
        yield from _links(tables, item, hashed)


def _links(tables: _Tables, item: Landed, hashed: str) -> Iterator[Transformation]:
    for column, other in tables.references(item):
        word, there = _word(item), _word(other)
        far = f"SHA2({column}::VARCHAR, 256)"
        keys = ", ".join([*map(named, item.here.key), column])
        yield Transformation(
            name=f"link_{word}_{there}", key=(f"{word}_hk", f"{there}_hk"),
            description=f"Which {there} each of {word} was of.",
            sql=f"SELECT\n  {hashed} AS {word}_hk,\n  {far} AS {there}_hk,\n  MIN(valid_from) AS load_date\n"
            f"FROM {item.clean}\nWHERE {column} IS NOT NULL\nGROUP BY {keys}",
        )  # fmt: skip


def _hashed(key: Sequence[str]) -> str:
    text = " || '|' || ".join(f"{named(name)}::VARCHAR" for name in key)
    return f"SHA2({text}, 256)"


_SHAPES: dict[str, Callable[[_Tables], Iterator[Transformation]]] = {
    "star": _star, "snowflake": _snowflake, "one_big_table": _one_big_table, "vault": _vault,
}  # fmt: skip

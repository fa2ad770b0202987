"""What differs between the definition of a project and what the catalog has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from sqlglot import exp

from snowmelt.core.lag import show_lag
from snowmelt.core.names import quote
from snowmelt.core.types import parse_type
from snowmelt.features.streams.statements import CreateStream
from snowmelt.projects.columns import identifier
from snowmelt.projects.definitions import ProjectHome
from snowmelt.sql.bound import fold_identifier
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.scd import Dimension
from snowmelt.sql.statements.base import NameRef
from snowmelt.sql.statements.columns import CheckSpec, ColumnSpec, Constraint, ForeignKeySpec, PrimaryKey, UniqueKey
from snowmelt.sql.statements.dynamic_tables import CreateDynamicTable, TargetLag
from snowmelt.sql.statements.tables import CreateTable
from snowmelt.sql.statements.views import CreateView
from snowmelt.sql.tokens import SqlText


class Effect(IntEnum):
    """What a difference costs, the worst last."""

    KEEPS = 0
    RECOMPUTES = 1
    """The rows of a dynamic table are computed anew."""
    LOSES = 2
    """Data goes that nothing brings back."""


QUERY_CHANGED = "the query changed"


@dataclass(frozen=True, slots=True)
class Difference:
    reason: str
    effect: Effect = Effect.KEEPS


def canonical(text: str) -> str:
    """A query or an expression without layout, comments and needless quotes."""
    tree = parse_snowflake(text.strip().rstrip(";"))
    for node in tree.find_all(exp.Identifier):
        spelled = identifier(fold_identifier(node))
        node.set("this", spelled.name)
        node.set("quoted", bool(spelled.args.get("quoted")))
    return tree.sql(dialect="snowflake", comments=False)


def _same_text(one: SqlText | None, other: SqlText | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.text == other.text or canonical(one.text) == canonical(other.text)


def _same_texts(one: Sequence[SqlText], other: Sequence[SqlText]) -> bool:
    return len(one) == len(other) and all(_same_text(a, b) for a, b in zip(one, other, strict=True))


def _comment(wanted: str | None, present: str | None) -> list[Difference]:
    return [] if (wanted or None) == (present or None) else [Difference("the comment changed")]


# -- dynamic tables ---------------------------------------------------------------------------------------------------


def dynamic_table(wanted: CreateDynamicTable, present: CreateDynamicTable) -> list[Difference]:
    found: list[Difference] = []
    recompute = Effect.RECOMPUTES
    if wanted.transient != present.transient:
        found.append(Difference(f"it is to be {'transient' if wanted.transient else 'permanent'}", recompute))
    if not _same_text(wanted.query, present.query) or not _same_dimension(wanted.dimension, present.dimension):
        found.append(Difference(QUERY_CHANGED, recompute))
    found += _dynamic_columns(wanted.columns, present.columns)
    new, old = wanted.options, present.options
    if (new.refresh_mode or "AUTO") != (old.refresh_mode or "AUTO"):
        found.append(Difference(f"refresh mode {old.refresh_mode or 'AUTO'} → {new.refresh_mode or 'AUTO'}", recompute))
    if not _same_text(wanted.frozen_where, present.frozen_where):
        effect = recompute if present.frozen_where is not None else Effect.KEEPS
        found.append(Difference("the frozen region changed", effect))
    if new.target_lag != old.target_lag:
        found.append(Difference(f"target lag {_lag(old.target_lag)} → {_lag(new.target_lag)}"))
    if (new.scheduler or "ENABLE") != (old.scheduler or "ENABLE"):
        found.append(Difference(f"scheduler {old.scheduler or 'ENABLE'} → {new.scheduler or 'ENABLE'}"))
    for word, one, other in (
        ("warehouse", new.warehouse, old.warehouse),
        ("initialization warehouse", new.initialization_warehouse, old.initialization_warehouse),
    ):
        # A dimension that names no warehouse takes the one of whoever creates it.
        if one != other and (one is not None or wanted.dimension is None):
            found.append(Difference(f"{word} {_named(other)} → {_named(one)}"))
    if not _same_texts(wanted.cluster_by, present.cluster_by):
        found.append(Difference("the clustering key changed"))
    return found + _retention(new.data_retention_time_in_days, old.data_retention_time_in_days) + _comment(
        new.comment, old.comment
    )  # fmt: skip


def _same_dimension(wanted: Dimension | None, present: Dimension | None) -> bool:
    """But for where the events are, which is the query's part."""
    if wanted is None or present is None:
        return wanted is present
    return _comparable(wanted) == _comparable(present)


def _comparable(dimension: Dimension) -> Dimension:
    return replace(
        dimension,
        source="",
        landing=None,
        sequence=tuple(canonical(text) for text in dimension.sequence),
        delete_when=canonical(dimension.delete_when) if dimension.delete_when is not None else None,
    )


def _lag(lag: TargetLag | None) -> str:
    return "none" if lag is None else "DOWNSTREAM" if lag.seconds is None else show_lag(lag.seconds)


def _named(name: NameRef | None) -> str:
    return "none" if name is None else ".".join(map(quote, name.parts))


def _dynamic_columns(wanted: Sequence[ColumnSpec], present: Sequence[ColumnSpec]) -> list[Difference]:
    explicit = any(column.type is not None for column in present)
    if not wanted:
        # GET_DDL lists the columns in any case; types and comments only where they were declared.
        declared = explicit or any(column.comment is not None for column in present)
        return [Difference("its columns are no longer listed", Effect.RECOMPUTES)] if declared else []
    new = [(column.name, _type(column.type), column.nullable is not False) for column in wanted]
    old = [(column.name, _type(column.type), column.nullable is not False) for column in present]
    untyped = [(name, None, nullable) for name, _, nullable in old]
    if new not in (old, untyped):
        return [Difference("its columns changed", Effect.RECOMPUTES)]
    comments = [column.comment for column in wanted] != [column.comment for column in present]
    return [Difference("comments of columns changed")] if comments else []


def _type(text: SqlText | None) -> str | None:
    return None if text is None else str(parse_type(text.text))


def _retention(wanted: int | None, present: int | None) -> list[Difference]:
    """Nothing said means what the schema says, which GET_DDL does not tell."""
    if wanted is None or wanted == (1 if present is None else present):
        return []
    return [Difference(f"retention of {wanted} days")]


# -- views ------------------------------------------------------------------------------------------------------------


def view(wanted: CreateView, present: CreateView) -> list[Difference]:
    found: list[Difference] = []
    if not _same_text(wanted.query, present.query):
        found.append(Difference("the query changed"))
    if wanted.columns:
        if wanted.columns != present.columns:
            found.append(Difference("its columns changed"))
    elif any(column.comment is not None for column in present.columns):
        found.append(Difference("comments of columns changed"))
    if wanted.secure != present.secure:
        found.append(Difference("it is to be secure" if wanted.secure else "it is no longer to be secure"))
    if bool(wanted.options.change_tracking) != bool(present.options.change_tracking):
        found.append(Difference("change tracking changed"))
    return found + _comment(wanted.options.comment, present.options.comment)


# -- streams ----------------------------------------------------------------------------------------------------------


def stream(wanted: CreateStream, present: CreateStream, home: ProjectHome) -> list[Difference]:
    """How two streams differ, but for where they begin: that matters once, when a stream is created."""
    found: list[Difference] = []
    if wanted.source is not None and present.source is not None:
        if home.complete(wanted.source.parts) != home.complete(present.source.parts):
            found.append(Difference(f"it is to be on {_named(wanted.source)}", Effect.LOSES))
        new, old = wanted.options, present.options
        if (bool(new.append_only), bool(new.insert_only)) != (bool(old.append_only), bool(old.insert_only)):
            found.append(Difference("its mode changed", Effect.LOSES))
    return found + _comment(wanted.options.comment, present.options.comment)


# -- tables -----------------------------------------------------------------------------------------------------------


def table(wanted: CreateTable, present: CreateTable, home: ProjectHome) -> list[Difference]:
    """Of a table with listed columns. Rows that a query, LIKE or CLONE gave it once are nobody's business later."""
    if wanted.query is not None or wanted.like is not None or wanted.clone is not None:
        return []
    found: list[Difference] = []
    if wanted.transient != present.transient:
        found.append(Difference(f"it is to be {'transient' if wanted.transient else 'permanent'}"))
    old = {column.name: column for column in present.columns}
    new = {column.name: column for column in wanted.columns}
    keys = _primary(wanted), _primary(present)
    for name, column in new.items():
        if name not in old:
            found.append(Difference(f"column {quote(name)} is new"))
        else:
            found += _column(column, old[name], keys, home)
    found += [Difference(f"column {quote(name)} goes", Effect.LOSES) for name in old if name not in new]
    stay = [name for name in old if name in new]
    if list(new)[: len(stay)] != stay:
        found.append(Difference("its columns are in another order"))
    if not _same_constraints(_constraints(wanted, home), _constraints(present, home)):
        found.append(Difference("its constraints changed"))
    if not _same_texts(wanted.cluster_by, present.cluster_by):
        found.append(Difference("the clustering key changed"))
    tracking = wanted.options.change_tracking
    if tracking is not None and tracking != bool(present.options.change_tracking):
        found.append(Difference(f"change tracking is to be {'on' if tracking else 'off'}"))
    if bool(wanted.options.enable_schema_evolution) != bool(present.options.enable_schema_evolution):
        found.append(Difference("schema evolution changed"))
    days = wanted.options.data_retention_time_in_days, present.options.data_retention_time_in_days
    return found + _retention(*days) + _comment(wanted.options.comment, present.options.comment)


def _column(
    new: ColumnSpec, old: ColumnSpec, keys: tuple[Sequence[str], Sequence[str]], home: ProjectHome
) -> list[Difference]:
    found: list[Difference] = []
    called = quote(new.name)
    if _type(new.type) != _type(old.type):
        found.append(Difference(f"column {called}: {_type(old.type)} → {_type(new.type)}"))
    required = new.nullable is False or new.name in keys[0]
    if required != (old.nullable is False or old.name in keys[1]):
        found.append(Difference(f"column {called} is {'NOT NULL' if required else 'no longer NOT NULL'}"))
    if _default(new, home) != _default(old, home):
        found.append(Difference(f"the default of column {called} changed"))
    if new.identity is not None and old.identity is not None:
        if (new.identity.start, new.identity.step) != (old.identity.start, old.identity.step):
            found.append(Difference(f"the numbering of column {called} changed"))
    elif new.identity != old.identity:
        found.append(Difference(f"the numbering of column {called} changed"))
    if (new.comment or None) != (old.comment or None):
        found.append(Difference(f"the comment of column {called} changed"))
    return found


def _default(column: ColumnSpec, home: ProjectHome) -> str | None:
    if column.default is None:
        return None
    tree = parse_snowflake(column.default.text)
    if isinstance(tree, exp.Column) and tree.name.upper() == "NEXTVAL" and tree.args.get("table") is not None:
        named = [tree.args.get("catalog"), tree.args.get("db"), tree.args.get("table")]
        parts = tuple(fold_identifier(item) for item in named if isinstance(item, exp.Identifier))
        return f"{home.complete(parts)}.NEXTVAL"
    return canonical(column.default.text)


def all_constraints(statement: CreateTable) -> Iterable[Constraint]:
    for column in statement.columns:
        yield from column.constraints
    yield from statement.constraints


def _primary(statement: CreateTable) -> Sequence[str]:
    return [name for item in all_constraints(statement) if isinstance(item, PrimaryKey) for name in item.columns]


def _constraints(statement: CreateTable, home: ProjectHome) -> dict[tuple[str, str, str], str]:
    """By name, kind and columns; the value is the columns referred to, empty where they are left to the other table."""
    found: dict[tuple[str, str, str], str] = {}
    for item in all_constraints(statement):
        match item:
            case PrimaryKey(columns=columns):
                found[item.name or "", "PRIMARY KEY", ", ".join(columns)] = ""
            case UniqueKey(columns=columns):
                found[item.name or "", "UNIQUE", ", ".join(columns)] = ""
            case ForeignKeySpec(columns=columns, references=target):
                key = f"{', '.join(columns)} → {home.complete(target.parts)}"
                found[item.name or "", "FOREIGN KEY", key] = ", ".join(item.referenced_columns)
            case CheckSpec(expression=expression):
                found[item.name or "", "CHECK", canonical(expression.text)] = ""
    return found


def _same_constraints(wanted: dict[tuple[str, str, str], str], present: dict[tuple[str, str, str], str]) -> bool:
    if wanted.keys() != present.keys():
        return False
    return all(not referred or referred == present[key] for key, referred in wanted.items())

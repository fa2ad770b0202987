"""Slowly changing dimensions: the query that leads from a set of events to the versions of every key.

A query over all events, and no merge into versions: which versions there are depends on the set of events alone, so the
order in which events arrive, how they are split into batches and how often each comes can't matter. Every level of the
query is partitioned by the key, so that a dynamic table of it is refreshed key by key.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import SEMI_STRUCTURED, TIMESTAMPS, VARCHAR, DataType, Kind
from snowmelt.sql.bound import fold_identifier
from snowmelt.sql.dialect import identifier, parse_snowflake, string

SURROGATE_KEY, VALID_FROM, VALID_TO, IS_CURRENT = "SURROGATE_KEY", "VALID_FROM", "VALID_TO", "IS_CURRENT"
PREVIOUS = "PREVIOUS_"
METADATA = "METADATA$"
SEQUENCE, DELETED = "SCD$SEQUENCE", "SCD$DELETED"
_TIE, _STARTS, _ENDS = "SCD$TIE", "SCD$STARTS", "SCD$ENDS"
_FORMATS = {Kind.DATE: "YYYY-MM-DD", Kind.TIME: "HH24:MI:SS.FF6"}


@dataclass(frozen=True, slots=True)
class Dimension:
    """What CREATE SCD TABLE declares. Expressions and the source are SQL as written; names are folded."""

    type: Literal[1, 2, 3]
    key: tuple[str, ...]
    source: str
    """What stands behind FROM: a name, a query in parentheses, or STREAM and a name."""
    sequence: tuple[str, ...] = ()
    delete_when: str | None = None
    track: tuple[str, ...] | None = None
    """The columns whose change makes a version; None for all but `track_except`."""
    track_except: tuple[str, ...] = ()
    stream: tuple[str, ...] | None = None
    """The stream's name where the source is one."""
    landing: str | None = None
    """The name, in the dimension's schema, of the table and of the task that keep a stream's events."""


@dataclass(frozen=True, slots=True)
class EventColumn:
    name: str
    type: DataType


@dataclass(frozen=True, slots=True)
class ScdEvents:
    """A dimension's events: where they are, and the part that each of their columns has."""

    dimension: Dimension
    source: str
    """What the query reads: a name or a query in parentheses."""
    key: tuple[EventColumn, ...]
    others: tuple[EventColumn, ...]
    """All else that the table takes over from the events."""
    tracked: frozenset[str]
    """The other columns whose change makes a new version."""
    sequence: DataType
    """The type of the value that orders the events."""

    @property
    def columns(self) -> tuple[EventColumn, ...]:
        return (*self.key, *self.others)


def probe_of(dimension: Dimension, source: str) -> str:
    """A query whose columns are those of the source, and behind them what the events are ordered by."""
    query = exp.select(exp.Star(), exp.alias_(_verbatim(dimension.sequence[0]), identifier(SEQUENCE)))
    return _reading(query, source).sql(dialect="snowflake")


def events_of(dimension: Dimension, source: str, probed: Sequence[EventColumn]) -> ScdEvents:
    """Sorts the columns of the source by their part in the dimension; raises when they can't make one.

    `probed`: the columns of `probe_of`. A column that SEQUENCE BY or DELETE WHEN reads, or a stream's own, is about the
    event, not about what it happened to: it is left out, unless TRACK or TRACK EXCEPT names it.
    """
    *columns, order = probed
    if order.type.kind in SEMI_STRUCTURED:
        raise errors.compilation(
            "001003", "42000", f"SCD table: SEQUENCE BY gives {order.type}, which has no order.",
            hint="Cast it: SEQUENCE BY value:ts::NUMBER.",
        )  # fmt: skip
    by_name = {column.name: column for column in columns}
    named = (*dimension.key, *(dimension.track or ()), *dimension.track_except)
    for name in named:
        if name not in by_name:
            raise errors.compilation("000904", "42000", f"SCD table: invalid identifier '{name}'")
        if named.count(name) > 1:
            raise errors.compilation(
                "001003", "42000", f"SCD table: column '{name}' is named twice in KEY and TRACK.",
                hint="Name a column once, in KEY or in TRACK.",
            )  # fmt: skip
    left_out = {*_read_by(dimension), *(name for name in by_name if name.startswith(METADATA))} - set(named)
    others = tuple(column for name, column in by_name.items() if name not in dimension.key and name not in left_out)
    wanted = {column.name for column in others} if dimension.track is None else set(dimension.track)
    tracked = frozenset(wanted - set(dimension.track_except))
    key = tuple(by_name[name] for name in dimension.key)
    events = ScdEvents(dimension, source, key, others, tracked, order.type)
    _check_names(events)
    return events


def _read_by(dimension: Dimension) -> set[str]:
    texts = [*dimension.sequence, *([dimension.delete_when] if dimension.delete_when is not None else [])]
    trees = [parse_snowflake(text) for text in texts]
    return {fold_identifier(node.this) for tree in trees for node in tree.find_all(exp.Column)}


def _check_names(events: ScdEvents) -> None:
    own: set[str] = set()
    if events.dimension.type == 2:
        own = {SURROGATE_KEY, VALID_FROM, VALID_TO, IS_CURRENT}
    elif events.dimension.type == 3:
        own = {VALID_FROM, *(PREVIOUS + name for name in events.tracked)}
    for column in events.columns:
        if column.name in own:
            raise errors.compilation(
                "002025", "42601", f"SCD table: the source has a column '{column.name}', which the table makes itself.",
                hint="Give it another name: FROM (SELECT … AS other_name FROM …).",
            )  # fmt: skip


def column_names(dimension: Dimension, source_columns: Iterable[str]) -> list[str]:
    """The names of the table's columns, in their order."""
    probed = [*(EventColumn(name, VARCHAR) for name in source_columns), EventColumn(SEQUENCE, VARCHAR)]
    events = events_of(dimension, dimension.source, probed)
    names = [column.name for column in events.columns]
    match dimension.type:
        case 1:
            return names
        case 2:
            return [SURROGATE_KEY, *names, VALID_FROM, VALID_TO, IS_CURRENT]
        case 3:
            return [*names, *(PREVIOUS + column.name for column in _tracked(events)), VALID_FROM]


def query_of(events: ScdEvents) -> str:
    """The dimension as one query, in Snowflake's SQL."""
    made_by = {1: _newest, 2: _history, 3: _with_previous}
    return made_by[events.dimension.type](events).sql(dialect="snowflake", normalize_functions=False)


# -- events -----------------------------------------------------------------------------------------------------------


def ordered_events(events: ScdEvents) -> exp.Select:
    """Every event with its position in the order and whether it ends its key's life."""
    dimension = events.dimension
    deleted: exp.Expr = exp.false()
    if dimension.delete_when is not None:
        deleted = _call("COALESCE", _verbatim(dimension.delete_when), exp.false())
    first, *others = dimension.sequence
    query = exp.select(
        *_columns(events.columns),
        exp.alias_(_verbatim(first), identifier(SEQUENCE)),
        *(exp.alias_(_verbatim(text), identifier(_tie(index))) for index, text in enumerate(others)),
        exp.alias_(deleted, identifier(DELETED)),
    )
    return _reading(query, events.source)


def _reading(query: exp.Select, source: str) -> exp.Select:
    query.set("from_", exp.From(this=exp.Var(this=source)))
    return query


def _tie(index: int) -> str:
    return f"{_TIE}{index}"


def _verbatim(text: str) -> exp.Expr:
    """The user's words, untouched: printing a parsed tree again may say it differently."""
    return exp.Paren(this=exp.Var(this=text))


def _full_order(events: ScdEvents, *, newest_first: bool) -> list[exp.Expr]:
    """No two different events are equal in it: the sequence, then deletions last, then the values of the columns."""
    ties = [_column(_tie(index)) for index in range(len(events.dimension.sequence) - 1)]
    values = [_comparable(column) for column in events.others]
    return [
        exp.Ordered(this=item, desc=newest_first, nulls_first=not newest_first)
        for item in (_column(SEQUENCE), *ties, _column(DELETED), *values)
    ]


def _newest(events: ScdEvents) -> exp.Select:
    """Type 1."""
    rank = _over(_call("ROW_NUMBER"), events, _full_order(events, newest_first=True))
    kept = _ordered(events, rank.eq(1))
    return exp.select(*_columns(events.columns)).from_(_subquery(kept)).where(exp.not_(_column(DELETED)))


def _decisive(events: ScdEvents) -> exp.Select:
    """One event for each key and instant: the last of those that have the same."""
    following = _over(_call("LEAD", _column(SEQUENCE)), events, _full_order(events, newest_first=False))
    return _ordered(events, exp.NullSafeNEQ(this=following, expression=_column(SEQUENCE)))


def _ordered(events: ScdEvents, condition: exp.Expr) -> exp.Select:
    """The events that have a position in the order and fulfil a condition over it."""
    has_sequence = exp.not_(exp.Is(this=_column(SEQUENCE), expression=exp.null()))
    query = exp.select(*_columns(events.columns), _column(SEQUENCE), _column(DELETED))
    query = query.from_(_subquery(ordered_events(events))).where(has_sequence)
    query.set("qualify", exp.Qualify(this=condition))
    return query


# -- versions ---------------------------------------------------------------------------------------------------------


def _starting(events: ScdEvents) -> exp.Select:
    """The decisive events, and which of them begin a version or a time without one: the others say nothing new."""
    deleted = _column(DELETED)
    turns = _differs_from_last(events, deleted)
    differences = [_differs_from_last(events, _comparable(column)) for column in _tracked(events)]
    if differences:
        turns = exp.or_(turns, exp.and_(exp.not_(deleted), exp.paren(exp.or_(*differences))))
    return exp.select(
        *_columns(events.columns), _column(SEQUENCE), deleted, exp.alias_(exp.paren(turns), identifier(_STARTS))
    ).from_(_subquery(_decisive(events)))


def _differs_from_last(events: ScdEvents, value: exp.Expr) -> exp.Expr:
    last = _over(_call("LAG", value.copy()), events, [_column(SEQUENCE)])
    return exp.NullSafeNEQ(this=last, expression=value.copy())


def _spans(events: ScdEvents) -> exp.Select:
    """The last event of each version and of each time without one, with when that began and ended.

    It is the last one because columns that are not tracked have its values.
    """
    began = _call("MAX", _call("IFF", _column(_STARTS), _column(SEQUENCE), exp.null()))
    so_far = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")
    order = [_column(SEQUENCE)]
    ends = _call("COALESCE", _over(_call("LEAD", _column(_STARTS)), events, order), exp.true())
    return (
        exp.select(
            *_columns(events.columns),
            _column(DELETED),
            exp.alias_(_over(began, events, order, so_far), identifier(VALID_FROM)),
            exp.alias_(_over(_call("LEAD", _column(SEQUENCE)), events, order), identifier(VALID_TO)),
            exp.alias_(ends, identifier(_ENDS)),
        )
        .from_(_subquery(_starting(events)))
    )  # fmt: skip


def _history(events: ScdEvents) -> exp.Select:
    """Type 2."""
    current = exp.Is(this=_column(VALID_TO), expression=exp.null())
    return (
        exp.select(
            exp.alias_(_surrogate(events), identifier(SURROGATE_KEY)),
            *_columns(events.columns),
            _column(VALID_FROM),
            _column(VALID_TO),
            exp.alias_(current, identifier(IS_CURRENT)),
        )
        .from_(_subquery(_spans(events)))
        .where(_column(_ENDS), exp.not_(_column(DELETED)))
    )  # fmt: skip


def _with_previous(events: ScdEvents) -> exp.Select:
    """Type 3: the current version with what its tracked columns were in the one before, in the same life of the key."""
    order = [_column(VALID_FROM)]
    previous = [
        exp.alias_(
            _over(_call("LAG", _call("IFF", _column(DELETED), exp.null(), _column(column.name))), events, order),
            identifier(PREVIOUS + column.name),
        )
        for column in _tracked(events)
    ]
    versions = (
        exp.select(*_columns(events.columns), _column(DELETED), _column(VALID_FROM), _column(VALID_TO), *previous)
        .from_(_subquery(_spans(events)))
        .where(_column(_ENDS))
    )  # fmt: skip
    added = [_column(PREVIOUS + column.name) for column in _tracked(events)]
    return (
        exp.select(*_columns(events.columns), *added, _column(VALID_FROM))
        .from_(_subquery(versions))
        .where(exp.Is(this=_column(VALID_TO), expression=exp.null()), exp.not_(_column(DELETED)))
    )


def _surrogate(events: ScdEvents) -> exp.Expr:
    """A digest of the key and of when the version began, each with its length so that no two read the same."""
    parts: list[exp.Expr] = []
    for index, column in enumerate([*events.key, EventColumn(VALID_FROM, events.sequence)]):
        text = _digested(column)
        counted = _call("CONCAT", _text(_call("LENGTH", text)), string(":"), text.copy())
        known = _call("COALESCE", counted, string("-"))
        parts += [string(","), known] if index else [known]
    return _call("MD5", _call("CONCAT", *parts))


def _digested(column: EventColumn) -> exp.Expr:
    """The same text for the same value, whatever formats and time zone a session has."""
    value = _column(column.name)
    if column.type.kind in TIMESTAMPS:
        return _text(_call("DATE_PART", string("epoch_microsecond"), value))
    if column.type.kind in _FORMATS:
        return _call("TO_VARCHAR", value, string(_FORMATS[column.type.kind]))
    return _text(_comparable(column))


# -- pieces -----------------------------------------------------------------------------------------------------------


def _column(name: str) -> exp.Column:
    return exp.column(identifier(name))


def _columns(columns: Iterable[EventColumn]) -> list[exp.Expr]:
    return [_column(column.name) for column in columns]


def _tracked(events: ScdEvents) -> list[EventColumn]:
    return [column for column in events.others if column.name in events.tracked]


def _comparable(column: EventColumn) -> exp.Expr:
    """The column, or what stands for it where values of its type have no order."""
    value = _column(column.name)
    return _call("TO_JSON", value) if column.type.kind in SEMI_STRUCTURED else value


def _text(value: exp.Expr) -> exp.Expr:
    return exp.cast(value, "VARCHAR")


def _call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _over(
    function: exp.Expr, events: ScdEvents, order: Sequence[exp.Expr], frame: exp.WindowSpec | None = None
) -> exp.Window:
    """A window over the events of one key."""
    keys = [_comparable(column) for column in events.key]
    return exp.Window(
        this=function, partition_by=keys, order=exp.Order(expressions=list(order)), spec=frame, over="OVER"
    )


def _subquery(query: exp.Query) -> exp.Subquery:
    return exp.Subquery(this=query)

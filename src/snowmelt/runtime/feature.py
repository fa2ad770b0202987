"""What a feature adds to an account, in one value. The runtime collects these values and knows no feature by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.runtime.kinds import Annotations, Clauses, Handler, KindDescription, Kinds, ShownRows, StatementGroup

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.resolver import StatementCatalog
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.stopping import StopTimes
    from snowmelt.runtime.system_functions import SystemFunction
    from snowmelt.runtime.table_functions import TableFunction
    from snowmelt.sql.relations import Relation
    from snowmelt.sql.statements.base import ObjectType, Statement, StatementKind
    from snowmelt.sql.statements.changes import Drop

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Feature:
    name: str
    kinds: tuple[KindDescription, ...] = ()
    """The kinds of objects that it brings, with the handlers of their statements."""
    annotations: tuple[Annotations, ...] = ()
    """What it lets users say of objects of other kinds."""
    clauses: tuple[Clauses, ...] = ()
    """What it adds to ALTER TABLE."""
    groups: tuple[StatementGroup, ...] = ()
    """Its statements that are about no kind of object of its own."""
    shows: tuple[ShownRows, ...] = ()
    """What SHOW lists of it, besides its kinds of objects."""
    drops: Mapping[ObjectType, Callable[[Run, Drop], str | None]] = field(default_factory=dict)
    """Drops what lives in no schema; the name of what is gone, None when nothing was there."""
    handlers: Mapping[type[Statement], Handler] = field(default_factory=dict)
    listings: Mapping[type[Statement], Handler] = field(default_factory=dict)
    """More handlers, of statements that only read the catalog: a client may ask for the columns that they give."""
    relation_functions: Mapping[str, Callable[[StatementCatalog, Mapping[str, exp.Expr]], Relation]] = field(
        default_factory=dict
    )
    """Table functions that take the name of a table, and give a relation instead of rows."""
    system_functions: Mapping[str, SystemFunction] = field(default_factory=dict)
    table_functions: tuple[TableFunction, ...] = ()
    """Those of INFORMATION_SCHEMA."""
    core_functions: tuple[TableFunction, ...] = ()
    """Those of the schema SNOWFLAKE.CORE."""
    scripts: tuple[type[Statement], ...] = ()
    """Statements that run others: each of those is atomic, and the whole is not."""
    before: Callable[[Run, Statement, StatementKind], None] | None = None
    """Called before every statement. It may raise."""
    inside: Callable[[Run, Statement], None] | None = None
    """Called after the handler of every statement, in the statement's transaction."""
    begin: Callable[[Account], None] | None = None
    """Makes the services of the feature when an account opens, and subscribes them to its events."""
    opened: Callable[[Account], None] | None = None
    """Called when the account can be used."""
    stop: Callable[[Account, StopTimes], None] | None = None
    """Ends background work when the account closes. The steps of all features run side by side."""


class Features:
    """All features of an account, put together."""

    def __init__(self, features: Iterable[Feature]) -> None:
        self._features = tuple(features)
        self.listings = _joined(feature.listings for feature in self)
        self.kinds = Kinds(
            tuple(kind for feature in self for kind in feature.kinds),
            tuple(each for feature in self for each in feature.annotations),
            tuple(each for feature in self for each in feature.clauses),
            tuple(each for feature in self for each in feature.groups),
            tuple(each for feature in self for each in feature.shows),
        )
        of_kinds = [part.handlers for part in self.kinds.parts]
        self.handlers = _joined([self.listings, *(feature.handlers for feature in self), *of_kinds])
        self.drops = _joined(feature.drops for feature in self)
        self.relation_functions = _joined(feature.relation_functions for feature in self)
        self.system_functions = _joined(feature.system_functions for feature in self)
        self.table_functions = _joined(_by_name(feature.table_functions) for feature in self)
        self.core_functions = _joined(_by_name(feature.core_functions) for feature in self)
        self.scripts = tuple(script for feature in self for script in feature.scripts)
        self.before = [feature.before for feature in self if feature.before is not None]
        self.inside = [feature.inside for feature in self if feature.inside is not None]

    def __iter__(self) -> Iterator[Feature]:
        return iter(self._features)

    def begin(self, account: Account) -> None:
        for feature in self:
            if feature.begin is not None:
                feature.begin(account)

    def opened(self, account: Account) -> None:
        for feature in self:
            if feature.opened is not None:
                feature.opened(account)

    def stops(self, account: Account, times: StopTimes) -> list[Callable[[], None]]:
        return [_step(feature.stop, account, times) for feature in self if feature.stop is not None]


class Services:
    """What the features keep for one account, by type."""

    def __init__(self) -> None:
        self._services: dict[type[Any], Any] = {}

    def add(self, service: _T) -> _T:
        self._services[type(service)] = service
        return service

    def __getitem__(self, type_: type[_T]) -> _T:
        found: _T = self._services[type_]
        return found


def _step(stop: Callable[[Account, StopTimes], None], account: Account, times: StopTimes) -> Callable[[], None]:
    return lambda: stop(account, times)


def _by_name(functions: Iterable[TableFunction]) -> dict[str, TableFunction]:
    return {function.name: function for function in functions}


def _joined(parts: Iterable[Mapping[Any, _T]]) -> dict[Any, _T]:
    """One table of all. Two features that claim one key are a defect of ours."""
    joined: dict[Any, _T] = {}
    for part in parts:
        twice = joined.keys() & part.keys()
        if twice:
            raise errors.internal(f"Two features have {sorted(map(str, twice))}.")
        joined |= part
    return joined

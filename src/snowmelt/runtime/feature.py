"""What a feature adds to an account, in one value. The runtime collects these values and knows no feature by name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.runtime.kinds import (
    AlterClauses,
    Annotations,
    DescribedKind,
    Handler,
    InformationView,
    Kinds,
    Run,
    ShownRows,
    StatementGroup,
)

if TYPE_CHECKING:
    from snowmelt.runtime.stopping import StopTimes
    from snowmelt.runtime.system_functions import SystemFunction
    from snowmelt.runtime.table_functions import TableFunction
    from snowmelt.sql.relations import Relation
    from snowmelt.sql.statements.base import ObjectType, Statement, StatementKind
    from snowmelt.sql.statements.changes import Drop

_T = TypeVar("_T")
Account = Any
"""An `account.Account`, which is above this module: functions of features declare it."""
StatementCatalog = Any
"""A `resolver.StatementCatalog`, which is above this module, too."""


@dataclass(frozen=True, slots=True)
class SqlFunctions:
    """Functions of SQL that are answered by the account."""

    system: Mapping[str, SystemFunction] = field(default_factory=dict)
    """Functions whose value becomes a constant in the query, such as SYSTEM$ functions."""
    tables: tuple[TableFunction, ...] = ()
    """Table functions of INFORMATION_SCHEMA."""
    core: tuple[TableFunction, ...] = ()
    """Table functions of the schema SNOWFLAKE.CORE."""
    relations: Mapping[str, Callable[[StatementCatalog, Mapping[str, exp.Expr]], Relation]] = field(
        default_factory=dict
    )
    """Table functions that take the name of a table, and give a relation instead of rows."""


@dataclass(frozen=True, slots=True)
class Feature:
    name: str
    kinds: tuple[DescribedKind, ...] = ()
    """The kinds of objects that it brings, with the handlers of their statements."""
    annotations: tuple[Annotations, ...] = ()
    """What it lets users say of objects of other kinds."""
    clauses: tuple[AlterClauses, ...] = ()
    """What it adds to ALTER TABLE."""
    groups: tuple[StatementGroup, ...] = ()
    """Its statements that are about no kind of object of its own."""
    shows: tuple[ShownRows, ...] = ()
    """What SHOW lists of it, besides its kinds of objects."""
    views: Callable[[], tuple[InformationView, ...]] = tuple
    """The views of INFORMATION_SCHEMA that it brings."""
    drops: Mapping[ObjectType, Callable[[Run, Drop], str | None]] = field(default_factory=dict)
    """Drops what lives in no schema; the name of what is gone, None when nothing was there."""
    handlers: Mapping[type[Statement], Handler] = field(default_factory=dict)
    listings: Mapping[type[Statement], Handler] = field(default_factory=dict)
    """More handlers, of statements that only read the catalog: a client may ask for the columns that they give."""
    functions: Callable[[], SqlFunctions] = SqlFunctions
    """The functions of SQL that it adds: asked for when a statement first calls a function that no registry has."""
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
            tuple(feature.views for feature in self),
        )
        of_kinds = [part.handlers for part in self.kinds.parts]
        self.handlers = _joined([self.listings, *(feature.handlers for feature in self), *of_kinds])
        of_account = {name: kind.drop for name, kind in self.kinds.of_account.items()}
        self.drops = _joined([of_account, *(feature.drops for feature in self)])
        self.scripts = tuple(script for feature in self for script in feature.scripts)
        self.before = [feature.before for feature in self if feature.before is not None]
        self.inside = [feature.inside for feature in self if feature.inside is not None]

    def __iter__(self) -> Iterator[Feature]:
        return iter(self._features)

    @cached_property
    def _functions(self) -> list[SqlFunctions]:
        return [feature.functions() for feature in self]

    @cached_property
    def system_functions(self) -> Mapping[str, SystemFunction]:
        return _joined(functions.system for functions in self._functions)

    @cached_property
    def table_functions(self) -> Mapping[str, TableFunction]:
        return _joined(_by_name(functions.tables) for functions in self._functions)

    @cached_property
    def core_functions(self) -> Mapping[str, TableFunction]:
        return _joined(_by_name(functions.core) for functions in self._functions)

    @cached_property
    def relation_functions(self) -> Mapping[str, Callable[[StatementCatalog, Mapping[str, exp.Expr]], Relation]]:
        return _joined(functions.relations for functions in self._functions)

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
    """What the features keep for one account, by type. A service is made when it is first asked for."""

    def __init__(self) -> None:
        self._makers: dict[str, Callable[[], Any]] = {}
        self._made: dict[str, Any] = {}
        # Making one may ask for another.
        self._lock = threading.RLock()

    def offer(self, module: Any, name: str, *given: Any) -> Any:
        """Offers a service: the class of that name in a module, which may be imported lazily, made of what is given.

        The answer stands for the service, and has it made when something of it is used.
        """
        if name in self._makers:
            raise errors.internal(f"Two features have a service {name}.")
        self._makers[name] = lambda: getattr(module, name)(*given)
        return _Offered(lambda: self._get(name))

    def is_made(self, name: str) -> bool:
        """Whether somebody asked for it: what was never made has nothing to wake or to stop."""
        return name in self._made

    def __getitem__(self, type_: type[_T]) -> _T:
        found: _T = self._get(type_.__name__)
        return found

    def _get(self, name: str) -> Any:
        with self._lock:
            if name not in self._made:
                self._made[name] = self._makers[name]()
            return self._made[name]


class _Offered:
    """Stands for a service until something of it is used."""

    def __init__(self, get: Callable[[], Any]) -> None:
        self._get = get

    def __getattr__(self, name: str) -> Any:
        return getattr(self._get(), name)


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

"""What the binder asks of the outside: tables and views by name, variables, user-defined functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from snowmelt.core.types import DataType
from snowmelt.core.user_code import UserCode
from snowmelt.sql.bound import BoundQuery
from snowmelt.sql.functions.registry import SessionContext


@dataclass(frozen=True, slots=True)
class RelationColumn:
    name: str
    type: DataType
    nullable: bool = True
    key: str | None = None
    """The column's name in what Spark reads, where it is another: names of a result may occur twice."""


@dataclass(frozen=True, slots=True)
class ViewText:
    """A view: bound in the place where it was created."""

    name: str
    query: str
    database: str
    schema: str
    owner: str | None = None
    """The role whose rights the query has."""
    sealed: bool = False
    """Whether it is SECURE and another role's: then nothing of the query around it is computed inside."""


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """A policy as it holds for one relation: an expression, bound in the place where the policy lives."""

    name: str
    body: str
    arguments: tuple[tuple[str, str], ...]
    """The policy's name for a value, and the column that it is."""
    database: str
    schema: str
    owner: str | None
    kind: str = ""
    """Of a policy that constrains what may be done with the rows: what its body returns."""


@dataclass(frozen=True, slots=True)
class GroupRule:
    """An aggregation policy, and the columns that say which rows are of one entity."""

    rule: PolicyRule
    entity: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadProtection:
    """What is shown of a relation, to whoever reads it."""

    rows: PolicyRule | None
    """True for the rows that are shown; None for all."""
    masks: Mapping[str, PolicyRule]
    """What is shown in place of a column's values."""
    context: SessionContext | None = None
    """Who asks, for the policies; None for whoever asks the query."""
    projections: Mapping[str, PolicyRule] = field(default_factory=dict)
    """Columns that may be kept out of results."""
    groups: GroupRule | None = None
    """The rows may be seen in groups only."""


@dataclass(frozen=True, slots=True)
class Relation:
    """Something that can stand in FROM.

    `reference` names what Spark reads: a temporary view that the engine makes for one version of one table.
    """

    name: str
    columns: tuple[RelationColumn, ...]
    reference: str | None = None
    view: ViewText | None = None
    json_text: bool = False
    """Whether VARIANT, OBJECT and ARRAY columns of the reference are JSON text, as they are in results."""
    query: exp.Query | None = None
    """Spark SQL that has the columns, where there is no reference."""
    protection: ReadProtection | None = None


@dataclass(frozen=True, slots=True)
class TimeTravel:
    """AT or BEFORE a constant: `kind` is TIMESTAMP, OFFSET, STATEMENT or STREAM."""

    before: bool
    kind: str
    expression: exp.Expr


@dataclass(frozen=True, slots=True)
class ChangeSpan:
    """CHANGES (INFORMATION => …) AT | BEFORE (…) [END (…)]."""

    append_only: bool
    start: TimeTravel
    end: TimeTravel | None = None


@dataclass(frozen=True, slots=True)
class ScalarRoutine:
    """A user-defined function: its body is an expression or a query over its arguments, or code."""

    name: str
    arguments: tuple[tuple[str, DataType], ...]
    returns: DataType | None
    returns_table: tuple[RelationColumn, ...] | None
    body: str
    database: str
    schema: str
    defaults: dict[str, str] = field(default_factory=dict)
    strict: bool = False
    """RETURNS NULL ON NULL INPUT."""
    owner: str | None = None
    """The role whose rights the body has; None for those of whoever calls it."""
    sealed: bool = False
    """As of a view."""
    code: UserCode | None = None
    """What runs in place of the body, which is Python then."""


class Relations(Protocol):
    """The catalog as one statement sees it. All methods are cheap and may be called often."""

    def relation(self, parts: tuple[str, ...], when: TimeTravel | None) -> Relation:
        """Raises the not-found error that names the object."""
        ...

    def changes(self, parts: tuple[str, ...], span: ChangeSpan) -> Relation:
        """What changed in a table or view between two points in time, with the METADATA$ columns of streams."""
        ...

    def table_function(self, name: str, arguments: dict[str, exp.Expr]) -> Relation:
        """A table function over metadata or results: RESULT_SCAN, INFORMATION_SCHEMA functions, …

        Positional arguments come under the keys "0", "1", …. Raises the unknown-function error.
        """
        ...

    def system_function(self, name: str, arguments: Sequence[exp.Expr]) -> exp.Expr | None:
        """The value of a function that needs the catalog (GET_DDL, SYSTEM$…), as a Snowflake literal.

        The arguments are as written. None when there is no such function.
        """
        ...

    def staged(self, location: str, format_name: str | None, pattern: str | None, width: int) -> Relation:
        """The records of files, `@stage/path`: `$1` to `$width` at least, and the METADATA$ columns."""
        ...

    def variable(self, name: str) -> exp.Expr | None:
        """The value of a session variable, as a Snowflake literal."""
        ...

    def next_value(self, parts: tuple[str, ...]) -> exp.Expr | None:
        """What stands for NEXTVAL of the sequence of that name; None when there is none."""
        ...

    def local(self, name: str) -> tuple[exp.Expr, DataType] | None:
        """The value of a scripting variable (`:name`) as a Snowflake literal, and the variable's type."""
        ...

    def routine(self, parts: tuple[str, ...]) -> list[ScalarRoutine]:
        """The user-defined functions of that name."""
        ...

    def distinct_values(self, query: BoundQuery) -> Sequence[exp.Expr]:
        """The distinct values of a query with one column, in its order, as Snowflake literals. It is run for this."""
        ...

    def within(self, database: str, schema: str, owner: str | None) -> Relations:
        """The same catalog with names resolved from another schema and with its owner's rights, for view bodies."""
        ...

"""INSERT, UPDATE, DELETE and MERGE, taken apart into names and texts."""

from __future__ import annotations

from dataclasses import dataclass

from snowmelt.core import errors
from snowmelt.sql.statements.base import NameRef, Statement
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.tokens import SqlText

_QUERY_WORDS = frozenset({"SELECT", "WITH", "VALUES", "("})

Assignment = tuple[NameRef, SqlText]
"""The column, perhaps qualified with the target's name or alias, and its new value."""


@dataclass(frozen=True, slots=True)
class InsertStatement(Statement):
    target: NameRef
    columns: tuple[str, ...] | None
    """None where no column list was written."""
    source: SqlText
    """`VALUES …` or a query."""
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class InsertTarget:
    """INTO t (a, b) VALUES (…): `values` are over the columns of the source, None for these as they are."""

    target: NameRef
    columns: tuple[str, ...] | None
    values: tuple[SqlText, ...] | None


@dataclass(frozen=True, slots=True)
class InsertBranch:
    condition: SqlText | None
    """None for what every row goes to, and for ELSE."""
    targets: tuple[InsertTarget, ...]


@dataclass(frozen=True, slots=True)
class MultiInsertStatement(Statement):
    """INSERT ALL and INSERT FIRST."""

    branches: tuple[InsertBranch, ...]
    otherwise: tuple[InsertTarget, ...]
    source: SqlText
    first: bool = False
    """Whether a row goes to the first branch only whose condition it meets."""
    overwrite: bool = False

    @property
    def targets(self) -> tuple[InsertTarget, ...]:
        return (*(target for branch in self.branches for target in branch.targets), *self.otherwise)


@dataclass(frozen=True, slots=True)
class UpdateStatement(Statement):
    target: NameRef
    alias: str | None
    assignments: tuple[Assignment, ...]
    from_: SqlText | None = None
    where: SqlText | None = None


@dataclass(frozen=True, slots=True)
class DeleteStatement(Statement):
    target: NameRef
    alias: str | None
    using: SqlText | None = None
    where: SqlText | None = None


@dataclass(frozen=True, slots=True)
class MergeClause:
    condition: SqlText | None
    """What stands behind AND."""


@dataclass(frozen=True, slots=True)
class MatchedUpdate(MergeClause):
    assignments: tuple[Assignment, ...] = ()
    all_by_name: bool = False


@dataclass(frozen=True, slots=True)
class MatchedDelete(MergeClause):
    pass


@dataclass(frozen=True, slots=True)
class NotMatchedInsert(MergeClause):
    columns: tuple[NameRef, ...] | None = None
    values: tuple[SqlText, ...] = ()
    all_by_name: bool = False


@dataclass(frozen=True, slots=True)
class MergeStatement(Statement):
    target: NameRef
    alias: str | None
    source: SqlText
    """The table or subquery, with its alias as written."""
    on: SqlText
    clauses: tuple[MergeClause, ...]
    """In the order written, which is the order in which they are tried."""


def parse_insert(cursor: TokenCursor) -> InsertStatement | MultiInsertStatement:
    overwrite = cursor.match("OVERWRITE")
    kind = cursor.match_any(("ALL", "FIRST"))
    if kind is not None:
        return _multi_insert(cursor, first=kind == "FIRST", overwrite=overwrite)
    cursor.expect("INTO")
    target = cursor.name()
    columns = _insert_columns(cursor)
    if not cursor.at_any(_QUERY_WORDS):
        raise cursor.unexpected()
    return InsertStatement(target, columns, cursor.rest(), overwrite)


def _insert_columns(cursor: TokenCursor) -> tuple[str, ...] | None:
    if cursor.at("(") and not (cursor.peek(1).word in _QUERY_WORDS and cursor.peek(2).word not in (",", ")")):
        return cursor.identifiers()
    return None


def _multi_insert(cursor: TokenCursor, *, first: bool, overwrite: bool) -> MultiInsertStatement:
    branches: list[InsertBranch] = []
    otherwise: tuple[InsertTarget, ...] = ()
    if cursor.at("INTO") and not first:
        branches.append(InsertBranch(None, _insert_targets(cursor)))
    else:
        while not branches or cursor.at("WHEN"):
            cursor.expect("WHEN")
            condition = cursor.until("THEN")
            cursor.expect("THEN")
            branches.append(InsertBranch(condition, _insert_targets(cursor)))
        otherwise = _insert_targets(cursor) if cursor.match("ELSE") else ()
    if not cursor.at_any(_QUERY_WORDS):
        raise cursor.unexpected()
    return MultiInsertStatement(tuple(branches), otherwise, cursor.rest(), first, overwrite)


def _insert_targets(cursor: TokenCursor) -> tuple[InsertTarget, ...]:
    found: list[InsertTarget] = []
    while not found or cursor.at("INTO"):
        cursor.expect("INTO")
        name = cursor.name()
        columns = _insert_columns(cursor)
        values = cursor.expression_list() if cursor.match("VALUES") else None
        found.append(InsertTarget(name, columns, values))
    return tuple(found)


def parse_update(cursor: TokenCursor) -> UpdateStatement:
    target = cursor.name()
    alias = _alias(cursor, "SET")
    cursor.expect("SET")
    assignments = _assignments(cursor, "FROM", "WHERE")
    source = cursor.until("WHERE") if cursor.match("FROM") else None
    where = cursor.rest() if cursor.match("WHERE") else None
    return UpdateStatement(target, alias, assignments, source, where)


def parse_delete(cursor: TokenCursor) -> DeleteStatement:
    cursor.expect("FROM")
    target = cursor.name()
    alias = _alias(cursor, "USING", "WHERE")
    using = cursor.until("WHERE") if cursor.match("USING") else None
    where = cursor.rest() if cursor.match("WHERE") else None
    return DeleteStatement(target, alias, using, where)


def parse_merge(cursor: TokenCursor) -> MergeStatement:
    cursor.expect("INTO")
    target = cursor.name()
    alias = _alias(cursor, "USING")
    cursor.expect("USING")
    source = cursor.until("ON", "WHEN")
    cursor.expect("ON")
    on = cursor.until("WHEN")
    clauses: list[MergeClause] = []
    while not clauses or not cursor.at_end:
        clauses.append(_merge_clause(cursor))
    return MergeStatement(target, alias, source, on, tuple(clauses))


def _alias(cursor: TokenCursor, *following: str) -> str | None:
    if cursor.match("AS"):
        return cursor.identifier()
    return None if cursor.at_any(following) or cursor.at_end else cursor.identifier()


def _assignments(cursor: TokenCursor, *stops: str) -> tuple[Assignment, ...]:
    found: list[Assignment] = []
    while not found or cursor.match(","):
        # One part more than a table's name has: `db.schema.t.column`.
        column = cursor.name(4)
        cursor.expect("=")
        found.append((column, cursor.until(",", *stops)))
    return tuple(found)


def _merge_clause(cursor: TokenCursor) -> MergeClause:
    cursor.expect("WHEN")
    matched = not cursor.match("NOT")
    cursor.expect("MATCHED")
    if cursor.at("BY"):
        raise errors.unsupported(f"MERGE … WHEN NOT MATCHED BY {cursor.peek(1).word}")
    condition = cursor.until("THEN") if cursor.match("AND") else None
    cursor.expect("THEN")
    if not matched:
        return _merge_insert(cursor, condition)
    if cursor.match("DELETE"):
        return MatchedDelete(condition)
    cursor.expect("UPDATE")
    if cursor.match("ALL"):
        cursor.expect("BY", "NAME")
        return MatchedUpdate(condition, all_by_name=True)
    cursor.expect("SET")
    return MatchedUpdate(condition, _assignments(cursor, "WHEN"))


def _merge_insert(cursor: TokenCursor, condition: SqlText | None) -> NotMatchedInsert:
    cursor.expect("INSERT")
    if cursor.match("ALL"):
        cursor.expect("BY", "NAME")
        return NotMatchedInsert(condition, all_by_name=True)
    columns: list[NameRef] | None = None
    if cursor.match("("):
        columns = [cursor.name(4)]
        while cursor.match(","):
            columns.append(cursor.name(4))
        cursor.expect(")")
    cursor.expect("VALUES")
    values = cursor.expression_list()
    return NotMatchedInsert(condition, None if columns is None else tuple(columns), values)

"""Anti-patterns in statements and in how they hang together: graphs, tasks, streams, loads."""

from __future__ import annotations

import re
from collections.abc import Iterator

from snowmelt.core.names import literal
from snowmelt.design.antipatterns.library import Library, LintedStatement, Parts, reads_of, task_statements
from snowmelt.design.antipatterns.model import Edit
from snowmelt.design.antipatterns.on_queries import RAW, Found, why_not_incremental
from snowmelt.features.loading.copy_statements import CopyIntoTable
from snowmelt.features.streams.statements import CreateStream
from snowmelt.features.tasks.statements import CreateTask
from snowmelt.sql.statements.base import Statement
from snowmelt.sql.statements.columns import PrimaryKey, UniqueKey
from snowmelt.sql.statements.dml import DeleteStatement, InsertStatement, MergeStatement
from snowmelt.sql.statements.dynamic_tables import CreateDynamicTable
from snowmelt.sql.statements.tables import CreateTable, Truncate
from snowmelt.sql.tokens import Token, TokenKind, tokenize

_SECRET_WORDS = frozenset(
    {"PASSWORD", "TOKEN", "SECRET", "API_KEY", "AWS_SECRET_KEY", "AZURE_SAS_TOKEN", "PRIVATE_KEY"}
)
ADDRESS_WITH_PASSWORD = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@']+:[^/\s@'$]+@", re.IGNORECASE)


def statement_findings(item: LintedStatement, library: Library) -> Iterator[Found]:
    yield from _secrets(item)
    match item.statement:
        case CreateDynamicTable() as statement:
            yield from _dynamic_table(item, statement, library)
        case CreateTable() as statement:
            yield from _table(item, statement, library)
        case CreateTask() as statement:
            yield from _task(item, statement, library)
        case CopyIntoTable() as statement:
            yield from _copy(statement)
        case _:
            pass
    if item.statement is not None and not isinstance(item.statement, CreateTask):
        yield from _thrown_away(item.statement)


# -- dynamic tables ---------------------------------------------------------------------------------------------------


def _dynamic_table(item: LintedStatement, statement: CreateDynamicTable, library: Library) -> Iterator[Found]:
    options = statement.options
    readers = [other for other in library.readers.get(id(item), ()) if isinstance(other.statement, CreateDynamicTable)]
    if readers and options.target_lag is not None and options.target_lag.seconds is not None:
        names = ", ".join(sorted({other.name for other in readers}))
        yield "PD-03", f"it has a time as its lag, and {names} reads it", _lag_edit(item)
    if options.refresh_mode == "FULL":
        yield "PD-07", "REFRESH_MODE = FULL computes everything at each refresh", ()
    elif options.refresh_mode in (None, "AUTO") and statement.dimension is None and statement.query is not None:
        yield "DW-02", "its refresh mode is whatever fits the query today", _mode_edit(item, library)
    if not readers:
        if options.contract is None:
            yield "DW-03", "consumers read it, and no contract says what it promises", ()
        if options.comment is None:
            yield "DO-06", "nothing says what one row of it is", ()


def _inserted(offset: int, text: str) -> Edit:
    return Edit(offset, offset, text)


def _lag_edit(item: LintedStatement) -> tuple[Edit, ...]:
    tokens = tokenize(item.sql).tokens
    for name, sign, value in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if name.word == "TARGET_LAG" and sign.word == "=" and value.kind is TokenKind.STRING:
            return (Edit(item.offset + value.start, item.offset + value.end, "DOWNSTREAM"),)
    # Only a dimension has a lag that is not written.
    before = next((token for token in tokens if token.word == "FROM"), None)
    return () if before is None else (_inserted(item.offset + before.start, "TARGET_LAG = DOWNSTREAM\n"),)


def _mode_edit(item: LintedStatement, library: Library) -> tuple[Edit, ...]:
    if why_not_incremental(item, library) is not None:
        return ()
    tokens = tokenize(item.sql).tokens
    for name, sign, value in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if name.word == "REFRESH_MODE" and sign.word == "=":
            return (Edit(item.offset + value.start, item.offset + value.end, "INCREMENTAL"),)
    start = _before_as(tokens)
    return () if start is None else (_inserted(item.offset + start, "REFRESH_MODE = INCREMENTAL\n"),)


def _before_as(tokens: tuple[Token, ...]) -> int | None:
    depth = 0
    for token in tokens:
        depth += (token.word == "(") - (token.word == ")")
        if depth == 0 and token.word == "AS":
            return token.start
    return None


# -- tables -----------------------------------------------------------------------------------------------------------


def _table(item: LintedStatement, statement: CreateTable, library: Library) -> Iterator[Found]:
    readers = library.readers.get(id(item), ())
    tracked = [other for other in readers if isinstance(other.statement, CreateDynamicTable | CreateStream)]
    if tracked and not statement.options.change_tracking and not statement.temporary:
        names = ", ".join(sorted({other.name for other in tracked}))
        yield (
            "ES-01",
            f"{names} read its changes, and nothing says that they are kept",
            _tracking_edit(item, statement),
        )
    if _is_merged_into(item, library) and not _has_key(statement):
        yield "ES-03", "MERGE writes to it by a key that the table does not have", ()


def _tracking_edit(item: LintedStatement, statement: CreateTable) -> tuple[Edit, ...]:
    if statement.query is not None or statement.clone is not None or statement.options.change_tracking is not None:
        return ()
    return (_inserted(item.offset + len(item.sql.text), " CHANGE_TRACKING = TRUE"),)


def _has_key(statement: CreateTable) -> bool:
    constraints = [*statement.constraints, *(key for column in statement.columns for key in column.constraints)]
    return any(isinstance(key, PrimaryKey | UniqueKey) for key in constraints)


def _is_merged_into(item: LintedStatement, library: Library) -> bool:
    for other in library.items:
        done = [other.statement] if isinstance(other.statement, MergeStatement) else []
        if isinstance(other.statement, CreateTask) and other.statement.body is not None:
            done += [each for each in task_statements(other.statement.body) if isinstance(each, MergeStatement)]
        if any(library.find(tuple(merge.target.parts), other.parts) is item for merge in done):
            return True
    return False


# -- tasks ------------------------------------------------------------------------------------------------------------


def _task(item: LintedStatement, statement: CreateTask, library: Library) -> Iterator[Found]:
    if statement.body is None:
        return
    done = task_statements(statement.body)
    for each in done:
        yield from _thrown_away(each)
        yield from _counted_twice(item, each, library)
        if isinstance(each, CreateTable) and each.or_replace and each.query is not None:
            yield "PD-07", "it makes the whole table anew each time", ()
        if isinstance(each, CopyIntoTable):
            yield from _copy(each)
    if any(token.word == "IMMEDIATE" for token in tokenize(statement.body).tokens):
        yield "DO-07", "EXECUTE IMMEDIATE runs text that nobody can follow", ()
    if statement.options.suspend_task_after_num_failures == 0:
        yield "DO-04", "it is never suspended, however often it fails", ()
    yield from _streams_of(item, statement, done, library)


def _streams_of(
    item: LintedStatement, statement: CreateTask, done: list[Statement], library: Library
) -> Iterator[Found]:
    streams = _read_streams(item, done, library)
    if streams and statement.when is None and not statement.after:
        start = _before_as(tokenize(item.sql).tokens)
        condition = " AND ".join(f"SYSTEM$STREAM_HAS_DATA({literal('.'.join(stream.parts))})" for stream in streams)
        edits = () if start is None else (_inserted(item.offset + start, f"WHEN {condition}\n"),)
        yield "ES-05", f"it runs whether {streams[0].name} has data or not", edits
    for other, task in library.tasks():
        if other is item:
            break
        if task.body is not None:
            shared = {id(found) for found in _read_streams(other, task_statements(task.body), library)}
            for stream in streams:
                if id(stream) in shared:
                    yield "ES-04", f"{other.name} consumes {stream.name} too", ()


def _read_streams(item: LintedStatement, done: list[Statement], library: Library) -> list[LintedStatement]:
    found: dict[int, LintedStatement] = {}
    for each in done:
        for parts in sorted(reads_of(each)):
            source = library.find(parts, item.parts)
            if source is not None and isinstance(source.statement, CreateStream):
                found[id(source)] = source
    return list(found.values())


def _counted_twice(item: LintedStatement, statement: Statement, library: Library) -> Iterator[Found]:
    if not isinstance(statement, InsertStatement) or statement.overwrite:
        return
    reads = [library.find(parts, item.parts) for parts in reads_of(statement)]
    # An unknown name may be a stream, which is consumed by the insert.
    if reads and all(source is not None and not isinstance(source.statement, CreateStream) for source in reads):
        yield "PD-01", f"each run inserts the same rows into {statement.target} again", ()


def _copy(statement: CopyIntoTable) -> Iterator[Found]:
    on_error = statement.options.on_error
    if on_error is not None and on_error.action in ("CONTINUE", "SKIP_FILE"):
        yield "ES-07", f"ON_ERROR = {on_error.action} leaves rows out, and nothing keeps them", ()


# -- raw data, secrets ------------------------------------------------------------------------------------------------


def _thrown_away(statement: Statement) -> Iterator[Found]:
    parts: Parts = ()
    match statement:
        case Truncate(name=name) | CreateTable(name=name, or_replace=True):
            parts = tuple(name.parts)
        case DeleteStatement(target=name) | InsertStatement(target=name, overwrite=True):
            parts = tuple(name.parts)
        case _:
            pass
    if parts and RAW.fullmatch(parts[-1]):
        yield "PD-05", f"it throws rows of {parts[-1]} away", ()


def _secrets(item: LintedStatement) -> Iterator[Found]:
    tokens = tokenize(item.sql).tokens if item.statement is not None else ()
    for name, sign, value in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if name.word in _SECRET_WORDS and sign.word == "=" and value.kind is TokenKind.STRING and value.text:
            yield "PD-06", f"{name.word} is written out", ()
    if ADDRESS_WITH_PASSWORD.search(item.sql.text):
        yield "PD-06", "an address has a password in it", ()

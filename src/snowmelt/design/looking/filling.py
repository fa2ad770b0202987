"""What was seen, put into the requirements. What a person wrote stays."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import ValidationError

from snowmelt.core import errors
from snowmelt.design.looking.files import SeenFiles, look_at_files
from snowmelt.design.looking.mysql import look_at_mysql
from snowmelt.design.looking.postgres import look_at_database
from snowmelt.design.looking.served import look_at_api, look_at_topic
from snowmelt.design.making.capturing import address_variable
from snowmelt.design.requirements.amounts import show_seconds
from snowmelt.design.requirements.model import Options, Requirements, Source, SourceKind, Table
from snowmelt.extract_load.endpoints import Endpoint, endpoint_of
from snowmelt.extract_load.sources.registry import SOURCES

_MINUTE = 60


@dataclass(slots=True)
class _Seen:
    """What a look at a source found."""

    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    options: Options = field(default_factory=dict)
    """Of the connection, as the source itself says."""


def looked(given: Requirements) -> tuple[Requirements, list[str]]:
    """The requirements with the facts of every source that can be looked at, and what was seen or not."""
    notes: list[str] = []
    sources = []
    for source in given.sources:
        why_not = _why_not(source)
        if why_not is not None:
            notes.append(f"{source.name}: {why_not}; its facts are as written.")
            sources.append(source)
            continue
        seen = _look(source)
        notes += [f"{source.name}: {text}" for text in (*map(_description, seen.tables), *seen.notes)]
        unseen = {table.name for table in source.tables} - {table.name for table in seen.tables}
        notes += [f"{source.name}: {name} is not there; its facts are as written." for name in sorted(unseen)]
        update = {"tables": _merged(source.tables, seen.tables), "options": {**seen.options, **source.options}}
        sources.append(source.model_copy(update=update))
    filled = given.model_copy(update={"sources": tuple(sources)})
    _check(filled)
    return filled, notes


def _why_not(source: Source) -> str | None:
    if source.kind is SourceKind.WEBHOOK:
        return "nobody can ask a webhook what it will send"
    if source.kind is SourceKind.SNOWMELT:
        return "tables that are here already are described by whoever makes them"
    if source.kind in (SourceKind.API, SourceKind.KAFKA) and not source.tables:
        return "it has no list of what it holds: name its tables"
    return None


def _look(source: Source) -> _Seen:
    endpoint = _endpoint(source)
    names = [table.name for table in source.tables if not table.tenants]
    match source.kind:
        case SourceKind.POSTGRES:
            return _Seen(look_at_database(endpoint.where(), names))
        case SourceKind.MYSQL:
            return _Seen(look_at_mysql(endpoint.where(), names))
        case SourceKind.KAFKA:
            return _Seen([look_at_topic(endpoint, table) for table in source.tables])
        case SourceKind.API:
            return _seen_api(endpoint, source)
    found = look_at_files(endpoint, source.tables)
    return _Seen([item.table for item in found], [note for item in found for note in _of_files(item)])


def _seen_api(endpoint: Endpoint, source: Source) -> _Seen:
    found = [look_at_api(endpoint, table) for table in source.tables]
    rates = [item.requests_per_second for item in found if item.requests_per_second is not None]
    limits = dict.fromkeys(item.limit for item in found if item.limit)
    notes = [f"it allows {limit}" for limit in limits]
    return _Seen([item.table for item in found], notes, {"requests_per_second": min(rates)} if rates else {})


def _of_files(seen: SeenFiles) -> Iterator[str]:
    if seen.count > 1:
        often = f", one every {show_seconds(round(seen.every))}" if seen.every and seen.every >= _MINUTE else ""
        yield f"{seen.table.name}: {seen.count} files{often}; one was looked into, the others are counted by their size"


def _endpoint(source: Source) -> Endpoint:
    """Where it is, with its secrets from the environment. Raises for a variable that is not set."""
    address = source.connection or ("." if source.kind is SourceKind.FILES else address_variable(source.name))
    if address.isupper() and address not in os.environ:
        example = SOURCES[source.kind].example_address
        raise errors.configuration(
            f"The environment variable {address}, which should hold the address of {source.name}, is not set.",
            hint=f"export {address}={example}",
        )
    where = f"${{{address}}}" if address.isupper() else address
    return endpoint_of(source.name, {"kind": str(source.kind), "address": where, **source.options})


def _check(given: Requirements) -> None:
    """Raises if what was written contradicts what was seen, such as a key that is not a column."""
    try:
        Requirements.model_validate(given.model_dump())
    except ValidationError as error:
        wrong = [
            f"{'.'.join(map(str, item['loc']))}: {item['msg'].removeprefix('Value error, ')}."
            for item in error.errors()
        ]
        raise errors.configuration(
            "\n".join(wrong), hint="The source itself says otherwise: correct the requirements."
        ) from None


def _merged(written: tuple[Table, ...], seen: list[Table]) -> tuple[Table, ...]:
    by_name = {table.name: table for table in written}
    found = []
    for table in seen:
        said = by_name.pop(table.name, None)
        update = {name: getattr(said, name) for name in said.model_fields_set} if said is not None else {}
        found.append(table.model_copy(update=update))
    return (*found, *by_name.values())


def _description(table: Table) -> str:
    rate = f", {table.changes_per_second:g} changes a second" if table.changes_per_second is not None else ""
    identity = f", replica identity {table.replica_identity}" if table.replica_identity is not None else ""
    rows = f"{table.rows:,} rows" if table.rows is not None else "nobody knows how many rows"
    personal = [column.name for column in table.columns if column.pii]
    named = f"; perhaps personal: {', '.join(personal)}" if personal else ""
    return (
        f"{table.name}: {len(table.columns)} columns, key {', '.join(table.key) or 'none'}, {rows}"
        f"{rate}, change column {table.change_column or 'none'}{identity}{named}"
    )

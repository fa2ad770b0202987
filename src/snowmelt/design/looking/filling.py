"""What was seen, put into the requirements. What a person wrote stays."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import ValidationError

from snowmelt.core import errors
from snowmelt.design.looking.files import look_at_file
from snowmelt.design.looking.postgres import look_at_database
from snowmelt.design.making.capturing import address_variable
from snowmelt.design.requirements.model import Requirements, Source, SourceKind, Table
from snowmelt.design.rules.known import FILES


def looked(given: Requirements) -> tuple[Requirements, list[str]]:
    """The requirements with the facts of every source that can be looked at, and what was seen or not."""
    notes: list[str] = []
    sources = []
    for source in given.sources:
        if source.kind is SourceKind.POSTGRES:
            seen = look_at_database(_address(source), [table.name for table in source.tables])
        elif source.kind in FILES and (paths := _paths(source)):
            seen = [_named(look_at_file(path), name) for name, path in paths]
        else:
            notes.append(f"{source.name}: {_unseen(source)}; its facts are as written.")
            sources.append(source)
            continue
        notes += [f"{source.name}: {_description(table)}" for table in seen]
        unseen = {table.name for table in source.tables} - {table.name for table in seen}
        notes += [f"{source.name}: {name} is not there; its facts are as written." for name in sorted(unseen)]
        sources.append(source.model_copy(update={"tables": _merged(source.tables, seen)}))
    filled = given.model_copy(update={"sources": tuple(sources)})
    _check(filled)
    return filled, notes


def _check(given: Requirements) -> None:
    """What was written may contradict what was seen: a key that is no column, say."""
    try:
        Requirements.model_validate(given.model_dump())
    except ValidationError as error:
        wrong = [
            f"{'.'.join(map(str, item['loc']))}: {item['msg'].removeprefix('Value error, ')}."
            for item in error.errors()
        ]
        raise errors.configuration("\n".join(wrong), hint="That is what was seen there; correct the file.") from None


def _unseen(source: Source) -> str:
    if source.kind not in FILES:
        return f"a source of kind {source.kind} is not looked at"
    wanted = ", ".join(table.name for table in source.tables)
    return f"there is no file {wanted} in the folder {source.connection or '.'} (`connection`)"


def _address(source: Source) -> str:
    variable = source.connection or address_variable(source.name)
    address = os.environ.get(variable)
    if address is None:
        raise errors.configuration(
            f"The environment variable {variable}, which should hold the address of {source.name}, is not set.",
            hint=f"export {variable}=postgresql://user:password@host/database",
        )
    return address


def _paths(source: Source) -> list[tuple[str, Path]]:
    """The first file for each pattern, where the files are on this machine."""
    folder = Path(source.connection or ".")
    found = []
    for table in source.tables:
        files = sorted(folder.glob(table.name)) if "*" in table.name else [folder / table.name]
        if files and files[0].is_file():
            found.append((table.name, files[0]))
    return found


def _named(table: Table, name: str) -> Table:
    return table.model_copy(update={"name": name})


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
    personal = [column.name for column in table.columns if column.pii]
    named = f"; perhaps personal: {', '.join(personal)}" if personal else ""
    return (
        f"{table.name}: {len(table.columns)} columns, key {', '.join(table.key) or 'none'}, {table.rows or 0:,} rows"
        f"{rate}, change column {table.change_column or 'none'}{identity}{named}"
    )

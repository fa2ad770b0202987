"""Policies as SHOW, DESCRIBE and GET_DDL print them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from snowmelt.core.kinds import ObjectType
from snowmelt.features.policies.definitions import definition_of, returned
from snowmelt.runtime.metadata.columns import Columns, Row, columns
from snowmelt.runtime.metadata.ddl_words import comment, object_name
from snowmelt.runtime.metadata.schema_objects import named, of_kind
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.sql.statements.spelling import spelled
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

COLUMNS = columns("created_on:ts, name, database_name, schema_name, kind, owner, comment, options, owner_role_type")
DESCRIBED = columns("name, signature, return_type, body")


def rows(run: Run, state: StateReader, statement: ShowStatement, kind: ObjectType) -> Iterator[Row]:
    for item in of_kind(run, state, statement, kind):
        yield {**named(item), "kind": kind.replace(" ", "_"), "options": ""}


def described(run: Run, state: StateReader, item: CatalogObject) -> tuple[Columns, Iterable[Row]]:
    definition = definition_of(item)
    row = {
        "name": item.name.name,
        "signature": signature(item),
        "return_type": returned(definition),
        "body": definition.body,
    }
    return DESCRIBED, [row]


def signature(item: CatalogObject) -> str:
    return f"({', '.join(f'{one.name} {one.type}' for one in definition_of(item).arguments)})"


def ddl(item: CatalogObject, qualified: bool) -> str:
    definition = definition_of(item)
    arguments = ", ".join(f"{spelled(one.name)} {one.type}" for one in definition.arguments)
    # A comment on the last line of the body would swallow what follows.
    end = "\n" if any(mark in definition.body.rsplit("\n", maxsplit=1)[-1] for mark in ("--", "//")) else ""
    head = f"create or replace {item.kind.lower()} {object_name(item.name, qualified=qualified)}"
    return f"{head} as ({arguments}) returns {returned(definition)} -> {definition.body}{end}{comment(item.comment)};"

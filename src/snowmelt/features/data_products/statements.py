"""CREATE DATA PRODUCT and ALTER DATA PRODUCT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from snowmelt.sql.statements.base import Action, CreateStatement, NameRef, ObjectType, Statement
from snowmelt.sql.statements.changes import RenameTo, SetOptions, UnsetOptions
from snowmelt.sql.statements.create_rules import CreateHead
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import created_name, if_exists, object_name
from snowmelt.sql.statements.options import (
    Options,
    name_reference,
    read_options,
    read_required_options,
    read_unset,
    strings,
    tags,
    text,
    whole,
)


def names(cursor: TokenCursor, name: str) -> tuple[NameRef, ...]:
    """`(a, s.b)`, or one name without parentheses."""
    if not cursor.match("("):
        return (cursor.name(),)
    found = [cursor.name()]
    while cursor.match(","):
        found.append(cursor.name())
    cursor.expect(")")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class ProductOptions(Options):
    objects: Annotated[tuple[NameRef, ...] | None, names] = None
    contract: Annotated[NameRef | None, name_reference] = None
    owner: Annotated[str | None, text] = None
    domain: Annotated[str | None, text] = None
    consumers: Annotated[tuple[str, ...] | None, strings] = None
    freshness: Annotated[str | None, text] = None
    availability_tier: Annotated[int | None, whole] = None
    documentation: Annotated[str | None, text] = None
    tags: Annotated[tuple[tuple[str, str], ...] | None, tags] = None
    pii: Annotated[tuple[str, ...] | None, strings] = None
    comment: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class CreateDataProduct(CreateStatement):
    options: ProductOptions
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterDataProduct(Statement):
    name: NameRef
    action: Action
    if_exists: bool = False


def parse_create_data_product(cursor: TokenCursor, head: CreateHead) -> CreateDataProduct:
    name, guarded = created_name(cursor, head)
    return CreateDataProduct(name, read_options(cursor, ProductOptions, head.kind), head.or_replace, guarded)


def parse_alter_data_product(cursor: TokenCursor, kind: ObjectType) -> AlterDataProduct:
    guarded = if_exists(cursor)
    name = object_name(cursor, kind)
    match cursor.expect_any(("SET", "UNSET", "RENAME")):
        case "SET":
            return AlterDataProduct(name, SetOptions(read_required_options(cursor, ProductOptions, kind)), guarded)
        case "RENAME":
            cursor.expect("TO")
            return AlterDataProduct(name, RenameTo(object_name(cursor, kind)), guarded)
    return AlterDataProduct(name, UnsetOptions(read_unset(cursor, ProductOptions, kind)), guarded)

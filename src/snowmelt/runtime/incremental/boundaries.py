"""Refresh boundaries: dynamic tables that a definition reads as anybody reads them.

Such a table is not refreshed with its reader, has no say in its lag, and is read at the version that was visible at the
data timestamp, whatever data timestamp that version has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import ObjectName
from snowmelt.sql.boundaries import FUNCTION, Parts, split
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.state.model import RELATIONS, CatalogObject, TableDefinition, ViewDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.resolver import StatementCatalog


def as_base(table: CatalogObject) -> CatalogObject:
    """A dynamic table as those see it whom it does not matter that it is one."""
    assert isinstance(table.definition, TableDefinition)
    return table.model_copy(update={"definition": table.definition.model_copy(update={"dynamic": None})})


def removed(catalog: StatementCatalog, tree: exp.Expr) -> tuple[exp.Expr, frozenset[ObjectName]]:
    """The query without its boundaries, and everything that it reads through them."""
    if not any(str(call.this).upper() == FUNCTION for call in tree.find_all(exp.Anonymous)):
        return tree, frozenset()
    found = split(tree)
    for parts in found.inside & found.outside:
        raise _both(catalog.full_name(parts))
    inside, outside = _closure(catalog, found.inside), _closure(catalog, found.outside)
    for name in sorted(inside & outside):
        item = catalog.state.whole_catalog.find(name, RELATIONS)
        if item is not None and isinstance(item.definition, TableDefinition) and item.definition.dynamic is not None:
            # One version of a table is what a refresh reads.
            raise _both(name)
    for name in sorted(inside):
        _check_initialized(catalog, name)
    return found.tree, frozenset(inside)


def _both(name: ObjectName) -> errors.SnowmeltError:
    return errors.compilation(
        "002720", "0A000", f"'{name}' is read both directly and through {FUNCTION}.",
        hint="Put every reference to it into the boundary, or none.",
    )  # fmt: skip


def _check_initialized(catalog: StatementCatalog, name: ObjectName) -> None:
    item = catalog.state.whole_catalog.find(name, RELATIONS)
    dynamic = catalog.state.dynamic.get(item.id) if item is not None else None
    if dynamic is not None and dynamic.data_timestamp is None:
        raise errors.not_initialized(str(name))


def _closure(catalog: StatementCatalog, names: Iterable[Parts]) -> set[ObjectName]:
    """These relations, and what the views among them read."""
    found: set[ObjectName] = set()
    waiting = [catalog.full_name(parts) for parts in names]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        item = catalog.state.whole_catalog.find(name, RELATIONS)
        if item is not None and isinstance(item.definition, ViewDefinition):
            home = catalog.within(item.definition.database, item.definition.schema_, item.owner)
            waiting += [home.full_name(parts) for parts in split(parse_snowflake(item.definition.query)).outside]
    return found

"""CREATE DATA PRODUCT and ALTER DATA PRODUCT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.features.data_products import declaring
from snowmelt.features.data_products.definitions import DATA_PRODUCT, DataProductDefinition
from snowmelt.features.data_products.statements import AlterDataProduct, CreateDataProduct, ProductOptions
from snowmelt.features.relations.alter_tables import rename
from snowmelt.runtime import schema_objects
from snowmelt.runtime.results import DONE, Result, status
from snowmelt.sql.statements.changes import RenameTo, SetOptions, UnsetOptions
from snowmelt.state.model import CatalogObject

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def create_data_product(run: Run, statement: CreateDataProduct) -> Result:
    given = declaring.changes_of(run, statement.options)
    definition = DataProductDefinition(**given)
    declaring.check(run, definition, given)
    return schema_objects.create(
        run,
        DATA_PRODUCT,
        statement.name,
        definition,
        or_replace=statement.or_replace,
        if_not_exists=statement.if_not_exists,
        comment=statement.options.comment,
    )


def alter_data_product(run: Run, statement: AlterDataProduct) -> Result:
    done = status(DONE, "ALTER_DATA_PRODUCT")
    found = schema_objects.to_alter(run, DATA_PRODUCT, statement.name, if_exists=statement.if_exists)
    if found is None:
        return done
    match statement.action:
        case RenameTo(new_name=new_name):
            rename(run, found, new_name)
        case SetOptions(options=ProductOptions() as options):
            _set(run, found, declaring.changes_of(run, options), comment=options.comment)
        case UnsetOptions(names=names):
            _set(run, found, declaring.unset(names), uncomment="COMMENT" in names)
        case _:
            raise errors.unsupported_action("DATA PRODUCT", statement.action)
    return done


def _set(
    run: Run, item: CatalogObject, changes: dict[str, Any], *, comment: str | None = None, uncomment: bool = False
) -> None:
    assert isinstance(item.definition, DataProductDefinition)
    declaring.check(run, item.definition.model_copy(update=changes), changes)
    schema_objects.alter(run, item, changes, comment=comment, uncomment=uncomment)

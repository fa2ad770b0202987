"""The kind DATA PRODUCT: all that the runtime has to know of it."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.data_products.definitions import DATA_PRODUCT, DataProductDefinition
from snowmelt.features.data_products.statements import (
    AlterDataProduct,
    CreateDataProduct,
    parse_alter_data_product,
    parse_create_data_product,
)
from snowmelt.runtime.kinds import InProjects, KindDescription
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.rights.asks import altered, ask_creator, ask_owner, created
from snowmelt.sql.statements import base
from snowmelt.sql.statements.create_rules import CreateRule
from snowmelt.sql.statements.kinds import KindSyntax

with lazy_imports():
    from snowmelt.features.data_products import listing
    from snowmelt.features.data_products.commands import alter_data_product, create_data_product
    from snowmelt.features.data_products.ddl import data_product_ddl
    from snowmelt.features.data_products.listing import data_products, described

KIND = KindDescription(
    syntax=KindSyntax(
        DATA_PRODUCT,
        CreateRule(parse_create_data_product),
        parse_alter_data_product,
        {
            CreateDataProduct: base.ddl("CREATE_DATA_PRODUCT"),
            AlterDataProduct: base.ddl("ALTER_DATA_PRODUCT"),
        },
        is_described=True,
    ),
    noun="Data product",
    definition=DataProductDefinition,
    handlers={CreateDataProduct: create_data_product, AlterDataProduct: alter_data_product},
    listing=Listing(data_products),
    columns=lambda: listing.COLUMNS,
    describe=described,
    ddl=data_product_ddl,
    script_order=130,
    privileges=("USAGE",),
    rules={"CREATE DATA PRODUCT": ask_creator(DATA_PRODUCT), "ALTER DATA PRODUCT": ask_owner()},
    requests={
        CreateDataProduct: lambda statement: created("CREATE DATA PRODUCT", DATA_PRODUCT, statement),
        AlterDataProduct: lambda statement: altered(
            "ALTER DATA PRODUCT", DATA_PRODUCT, statement.name, statement.action
        ),
    },
    is_renamed=True,
    has_history=True,
    in_projects=InProjects(statement=CreateDataProduct, drop_order=50),
)

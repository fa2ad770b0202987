"""The kind TAG: all that the runtime has to know of it."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.tags.definitions import TAG, TagDefinition
from snowmelt.features.tags.statements import (
    AlterTag,
    CreateTag,
    parse_alter_tag,
    parse_create_tag,
)
from snowmelt.runtime.kinds import KindDescription
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.rights.asks import altered, ask_creator, ask_owner, created
from snowmelt.sql.statements import base
from snowmelt.sql.statements.create_rules import CreateRule
from snowmelt.sql.statements.kinds import KindSyntax

with lazy_imports():
    from snowmelt.features.tags import listing
    from snowmelt.features.tags.commands import alter_tag, create_tag
    from snowmelt.features.tags.listing import ddl, tags

KIND = KindDescription(
    syntax=KindSyntax(
        TAG,
        CreateRule(parse_create_tag),
        parse_alter_tag,
        {CreateTag: base.ddl("CREATE_TAG"), AlterTag: base.ddl("ALTER_TAG")},
        is_undropped=True,
    ),
    noun="Tag",
    definition=TagDefinition,
    handlers={CreateTag: create_tag, AlterTag: alter_tag},
    listing=Listing(tags),
    columns=lambda: listing.COLUMNS,
    ddl=ddl,
    # Before everything that could have one.
    script_order=0,
    privileges=("APPLY", "READ"),
    rules={"CREATE TAG": ask_creator(TAG), "ALTER TAG": ask_owner()},
    requests={
        CreateTag: lambda statement: created("CREATE TAG", TAG, statement),
        AlterTag: lambda statement: altered("ALTER TAG", TAG, statement.name, statement.action),
    },
    is_renamed=True,
)

"""Tags."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.tags import references, setting
from snowmelt.features.tags.kind import KIND
from snowmelt.features.tags.statements import SetTags, UnsetTags, parse_tags
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.kinds import Annotations
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.runtime.table_functions import TableFunction
from snowmelt.sql.statements.kinds import AnnotationSyntax

_OF = references.REFERENCE_ARGUMENTS


def _begin(account: Account) -> None:
    account.lifecycle.cloned.subscribe(setting.copy_tags)
    account.lifecycle.column_renamed.subscribe(setting.column_renamed)


FEATURE = Feature(
    "tags",
    kinds=(KIND,),
    annotations=(
        Annotations(
            syntax=AnnotationSyntax("TAG", parse_tags),
            actions=(SetTags, UnsetTags),
            on_relation=setting.set_on_relation,
            on_container=setting.set_on_container,
        ),
    ),
    begin=_begin,
    system_functions={"SYSTEM$GET_TAG": SystemFunction(3, 3, types.VARCHAR, references.get_tag)},
    table_functions=(
        TableFunction("TAG_REFERENCES", _OF, references.REFERENCE_COLUMNS, references.references, required=2),
        TableFunction(
            "TAG_REFERENCES_ALL_COLUMNS", _OF, references.REFERENCE_COLUMNS, references.all_columns, required=2
        ),
    ),
)

"""Tags."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.tags.kind import KIND
from snowmelt.features.tags.statements import SetTags, UnsetTags, parse_created_tags, parse_tags
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.kinds import Annotations
from snowmelt.sql.statements.kinds import AnnotationSyntax

with lazy_imports():
    from snowmelt.features.tags import sql_functions
    from snowmelt.features.tags.setting import column_renamed, copy_tags, set_on_container, set_on_relation, tag_created


def _begin(account: Account) -> None:
    account.lifecycle.cloned.subscribe(copy_tags)
    account.lifecycle.column_renamed.subscribe(column_renamed)


FEATURE = Feature(
    "tags",
    functions=lambda: sql_functions.FUNCTIONS,
    kinds=(KIND,),
    annotations=(
        Annotations(
            syntax=AnnotationSyntax("TAG", parse_tags, parse_created=parse_created_tags, of_whole=True),
            actions=(SetTags, UnsetTags),
            on_relation=set_on_relation,
            on_container=set_on_container,
            on_created=tag_created,
        ),
    ),
    begin=_begin,
)

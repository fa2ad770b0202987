"""The functions of SQL that the feature adds."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.tags import references
from snowmelt.runtime.feature import SqlFunctions
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.runtime.table_functions import TableFunction

_OF = references.REFERENCE_ARGUMENTS


FUNCTIONS = SqlFunctions(
    system={"SYSTEM$GET_TAG": SystemFunction(3, 3, types.VARCHAR, references.get_tag)},
    tables=(
        TableFunction("TAG_REFERENCES", _OF, references.REFERENCE_COLUMNS, references.references, required=2),
        TableFunction(
            "TAG_REFERENCES_ALL_COLUMNS", _OF, references.REFERENCE_COLUMNS, references.all_columns, required=2
        ),
    ),
)

"""The functions of SQL that the feature adds."""

from __future__ import annotations

from snowmelt.features.policies import references
from snowmelt.runtime.feature import SqlFunctions
from snowmelt.runtime.table_functions import TableFunction

FUNCTIONS = SqlFunctions(
    tables=(TableFunction("POLICY_REFERENCES", references.ARGUMENTS, references.COLUMNS, references.references),),
)

"""The functions of SQL that the feature adds."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.erasure import functions as erasure
from snowmelt.runtime.feature import SqlFunctions
from snowmelt.runtime.system_functions import SystemFunction

FUNCTIONS = SqlFunctions(
    system={
        "SYSTEM$FIND_PERSON": SystemFunction(1, 3, types.VARCHAR, erasure.find_person, only_called=True),
        "SYSTEM$FORGET_PERSON": SystemFunction(1, 1, types.VARCHAR, erasure.forget_person, only_called=True),
        "SYSTEM$RESUME_ERASURES": SystemFunction(0, 0, types.VARCHAR, erasure.resume_erasures, only_called=True),
        "SYSTEM$ERASURES": SystemFunction(0, 0, types.VARCHAR, erasure.erasures),
    },
)

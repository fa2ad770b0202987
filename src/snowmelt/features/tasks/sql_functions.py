"""The functions of SQL that the feature adds."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.tasks import branching
from snowmelt.features.tasks import functions as task_functions
from snowmelt.features.tasks import system as tasks
from snowmelt.runtime.feature import SqlFunctions
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.runtime.table_functions import TableFunction

FUNCTIONS = SqlFunctions(
    system={
        "SYSTEM$CURRENT_USER_TASK_NAME": SystemFunction(0, 0, types.VARCHAR, tasks.current_task_name),
        "SYSTEM$GET_PREDECESSOR_RETURN_VALUE": SystemFunction(0, 1, types.VARCHAR, tasks.predecessor_return_value),
        "SYSTEM$GET_TASK_GRAPH_CONFIG": SystemFunction(0, 1, types.VARCHAR, tasks.graph_config),
        "SYSTEM$SET_RETURN_VALUE": SystemFunction(1, 1, types.VARCHAR, tasks.set_return_value),
        "SYSTEM$PREDECESSORS_STATE": SystemFunction(1, 1, types.BOOLEAN, branching.predecessors_state),
        "SYSTEM$TASK_COMPLETION_STATE": SystemFunction(1, 1, types.VARCHAR, branching.completion_state),
        "SYSTEM$TASK_DEPENDENTS_ENABLE": SystemFunction(1, 1, types.VARCHAR, tasks.dependents_enable),
        "SYSTEM$TASK_RUNTIME_INFO": SystemFunction(1, 1, types.VARCHAR, tasks.runtime_info),
        "SYSTEM$USER_TASK_CANCEL_ONGOING_EXECUTIONS": SystemFunction(1, 1, types.VARCHAR, tasks.cancel_executions),
    },
    tables=(
        TableFunction(
            "TASK_HISTORY",
            task_functions.HISTORY_ARGUMENTS,
            task_functions.HISTORY_COLUMNS,
            task_functions.task_history,
            about="NAME",
        ),
        TableFunction(
            "TASK_DEPENDENTS",
            task_functions.DEPENDENT_ARGUMENTS,
            task_functions.DEPENDENT_COLUMNS,
            task_functions.task_dependents,
            required=1,
        ),
        TableFunction(
            "CURRENT_TASK_GRAPHS",
            task_functions.CURRENT_ARGUMENTS,
            task_functions.CURRENT_COLUMNS,
            task_functions.current_task_graphs,
            about="ROOT_TASK_NAME",
        ),
        TableFunction(
            "COMPLETE_TASK_GRAPHS",
            task_functions.COMPLETE_ARGUMENTS,
            task_functions.COMPLETE_COLUMNS,
            task_functions.complete_task_graphs,
            about="ROOT_TASK_NAME",
        ),
    ),
)

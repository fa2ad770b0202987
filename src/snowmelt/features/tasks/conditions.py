"""WHEN: what it may say, and whether it holds. Answered from the state store, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.runtime import folding
from snowmelt.runtime.constants import UNKNOWN
from snowmelt.runtime.variables import Variable
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.tokens import SqlText

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

HAS_DATA = "SYSTEM$STREAM_HAS_DATA"
_BRANCHING = ("SYSTEM$PREDECESSORS_STATE", "SYSTEM$TASK_COMPLETION_STATE")
_FUNCTIONS = (HAS_DATA, "SYSTEM$GET_PREDECESSOR_RETURN_VALUE", "SYSTEM$GET_TASK_GRAPH_CONFIG", *_BRANCHING)
_ALLOWED = (
    exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is, exp.Cast,
    exp.DataType, exp.DataTypeParam, exp.Literal, exp.Boolean, exp.Null, exp.Neg,
)  # fmt: skip


def check(text: SqlText) -> None:
    """Raises when the condition needs more than the state store."""
    for node in parse_snowflake(text.text, line=text.line, column=text.column).walk():
        called = isinstance(node, exp.Anonymous) and node.name.upper() in _FUNCTIONS
        if not called and not isinstance(node, _ALLOWED):
            raise errors.task_refused(
                "Invalid expression for task condition expression. Expecting one of the following: "
                f"[{', '.join(_FUNCTIONS)}].",
                f"'{node.sql(dialect='snowflake')}' can't be used in WHEN; AND, OR, NOT, comparisons and casts can.",
            )


def watches_streams(condition: str | None) -> bool:
    """Whether data in a stream makes the condition true: such a root needs no schedule."""
    return condition is not None and HAS_DATA in condition.upper()


def branches(condition: str | None) -> bool:
    """Whether the condition decides itself what must have become of the tasks before."""
    return condition is not None and any(name in condition.upper() for name in _BRANCHING)


def holds(run: Run, condition: str) -> bool:
    """NULL does not hold."""
    tree = parse_snowflake(condition)
    with run.environment() as environment:
        for call in list(tree.find_all(exp.Anonymous)):
            value = environment.relations.system_function(call.name.upper(), call.expressions)
            if value is None:
                raise errors.unknown_function(call.name, None)
            if call is tree:
                tree = value
            else:
                call.replace(value)
    found = folding.compute(tree, lambda _: None)
    truth = folding.truth(found) if isinstance(found, Variable) else UNKNOWN
    if truth is UNKNOWN:
        raise errors.task_refused(
            f"The condition '{condition}' is neither true nor false.",
            "It must be a BOOLEAN: compare values of the same type.",
        )
    return bool(truth)

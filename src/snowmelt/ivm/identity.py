"""Which row of a view is which: every row known by the rows of tables that it is made of.

Changes say how many rows of each content came and went. A consumer of changes also wants to know that a row went and
came as the same one. Where a view makes each of its rows from one row of each of its tables, the identities of those
together are the row's own, and are carried along as columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from sqlglot import exp

from snowmelt.core import types
from snowmelt.ivm.algebra import (
    Aggregate,
    Column,
    Constant,
    Filter,
    InnerJoin,
    Item,
    Join,
    Limit,
    Node,
    Project,
    Scan,
    Union,
    Unnest,
    Window,
)
from snowmelt.ivm.lowering import View
from snowmelt.ivm.trees import call

IDENTITY = "__identity"
"""The column of a table that tells its rows apart, and how the names of such outputs begin."""
_REFUSED: dict[type[Node], str] = {
    Aggregate: "grouping",
    Window: "'Window Function'",
    Limit: "LIMIT",
    Unnest: "'Table Function'",
}


class NoIdentityError(Exception):
    """A query whose rows are not made of single rows; `feature` says why."""

    def __init__(self, feature: str) -> None:
        super().__init__(feature)
        self.feature = feature


def identified(view: View) -> tuple[View, tuple[str, ...]]:
    """The view with more outputs, and their names: together they tell its rows apart."""
    root, columns = _Identities().of(view.root)
    names = tuple(f"{IDENTITY}{place}" for place in range(len(columns)))
    return View(root, (*view.outputs, *zip(names, columns, strict=True))), names


class _Identities:
    def __init__(self) -> None:
        self._numbers = count()
        self._known: dict[int, tuple[Node, tuple[Column, ...]]] = {}

    def of(self, node: Node) -> tuple[Node, tuple[Column, ...]]:
        """The node with columns that identify its rows. A node that is used twice stays one."""
        if id(node) not in self._known:
            self._known[id(node)] = self._of(node)
        return self._known[id(node)]

    def _of(self, node: Node) -> tuple[Node, tuple[Column, ...]]:
        match node:
            case Scan(items=items):
                column = self._new()
                return replace(node, items=(*items, (column, IDENTITY))), (column,)
            case Constant():
                return node, ()
            case Filter(input=below):
                changed, columns = self.of(below)
                return replace(node, input=changed), columns
            case Project(input=below, items=computed):
                changed, columns = self.of(below)
                passed = tuple(Item(self._new(), column.ref) for column in columns)
                return Project(changed, (*computed, *passed)), tuple(item.column for item in passed)
            case InnerJoin(parts=parts):
                found = [self.of(part) for part in parts]
                changed_parts = tuple(part for part, _ in found)
                return replace(node, parts=changed_parts), tuple(c for _, columns in found for c in columns)
            case Union():
                return self._union(node)
            case Join(kind=kind):
                raise NoIdentityError(f"joins of type '[{kind.value}_OUTER_JOIN]'" if kind == "LEFT" else "subqueries")
        raise NoIdentityError(_REFUSED[type(node)])

    def _union(self, node: Union) -> tuple[Node, tuple[Column, ...]]:
        """Rows of different branches are different rows, even if they come from the same one."""
        branches = []
        for place, branch in enumerate(node.branches):
            changed, columns = self.of(branch)
            passed = [Item(Column(self._new().id, column.type), column.ref) for column in branch.columns]
            branches.append(Project(changed, (*passed, Item(self._new(), _joined(str(place), columns)))))
        column = self._new()
        return Union(tuple(branches), (*node.outputs, column)), (column,)

    def _new(self) -> Column:
        return Column(f"identity_{next(self._numbers)}", types.VARCHAR)


def _joined(first: str, columns: Sequence[Column]) -> exp.Expr:
    parts: list[exp.Expr] = [exp.Literal.string(first), *(column.ref for column in columns)]
    return call("concat_ws", exp.Literal.string("/"), *parts)

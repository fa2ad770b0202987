"""Which row of a view is which, where each row is made from one row of each table: their identities tell it apart."""

from __future__ import annotations

from itertools import count

from snowmelt.core import types
from snowmelt.ivm.algebra import IDENTITY, PlanColumn
from snowmelt.ivm.expressions import View
from snowmelt.ivm.operators.base import Identified, Operator


def identified(view: View) -> tuple[View, tuple[str, ...]]:
    """The view with more outputs, and their names: together they tell its rows apart. Raises `NoIdentityError`."""
    root, columns = _Identities()(view.root)
    names = tuple(f"{IDENTITY}{position}" for position in range(len(columns)))
    return View(root, (*view.outputs, *zip(names, columns, strict=True))), names


class _Identities:
    def __init__(self) -> None:
        self._numbers = count()
        self._known: dict[int, Identified] = {}

    def __call__(self, node: Operator) -> Identified:
        """The node with columns that identify its rows. A node that is used twice stays one."""
        if id(node) not in self._known:
            self._known[id(node)] = node.identified(self)
        return self._known[id(node)]

    def fresh(self) -> PlanColumn:
        return PlanColumn(f"identity_{next(self._numbers)}", types.VARCHAR)

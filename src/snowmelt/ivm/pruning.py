"""Dropping columns that nobody needs, so that changes are as narrow as they can be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from snowmelt.ivm.algebra import (
    Aggregate,
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
    columns_in,
)


def pruned(root: Node) -> Node:
    """The same rows; every node makes only the columns that are needed above it."""
    return _Pruning(root).result()


class _Pruning:
    """Needs are gathered from the root down over all uses of a node, so that a shared node stays one."""

    def __init__(self, root: Node) -> None:
        self._root = root
        self._needs: dict[int, set[str]] = {id(node): set() for node in root.walk()}
        self._done: dict[int, Node] = {}
        self._needs[id(root)] |= root.ids
        for node in reversed(list(root.walk())):
            self._gather(node)

    def result(self) -> Node:
        for node in self._root.walk():
            self._done[id(node)] = self._rebuilt(node)
        return self._done[id(self._root)]

    def _gather(self, node: Node) -> None:
        needed = self._needs[id(node)]
        match node:
            case Project():
                self._ask(node.input, _named(item.value for item in _wanted(node, needed)))
            case Filter():
                self._ask(node.input, needed | columns_in(node.condition))
            case Union():
                places = _places(node, needed)
                for branch in node.branches:
                    self._ask(branch, {branch.columns[place].id for place in places})
            case InnerJoin():
                for part in node.parts:
                    self._ask(part, needed | _named(node.conditions))
            case Join():
                self._ask(node.left, needed | columns_in(node.condition))
                self._ask(node.right, needed | columns_in(node.condition))
            case Aggregate():
                keys = {column.id for column in node.keys}
                self._ask(node.input, keys | _named(i.value for i in node.items if i.column.id in needed))
            case Window():
                keys = {column.id for column in node.partition}
                self._ask(node.input, needed | keys | _named(i.value for i in node.items if i.column.id in needed))
            case Unnest():
                self._ask(node.input, needed | columns_in(node.call))
            case Limit():
                self._ask(node.input, needed | _named(node.order))
            case _:
                pass

    def _ask(self, node: Node, names: Iterable[str]) -> None:
        self._needs[id(node)] |= node.ids & set(names)

    def _rebuilt(self, node: Node) -> Node:
        needed = self._needs[id(node)]
        match node:
            case Scan() | Constant():
                kept = tuple(item for item in node.items if item[0].id in needed) or node.items[:1]
                return replace(node, items=kept)
            case Project():
                return replace(node, input=self._below(node.input), items=_wanted(node, needed))
            case Filter() | Limit():
                return replace(node, input=self._below(node.input))
            case Union():
                return self._union(node)
            case InnerJoin():
                return replace(node, parts=tuple(self._below(part) for part in node.parts))
            case Join():
                return replace(node, left=self._below(node.left), right=self._below(node.right))
            case Aggregate() | Window():
                items = tuple(item for item in node.items if item.column.id in needed)
                if isinstance(node, Window) and not items:
                    return self._below(node.input)
                return replace(node, input=self._below(node.input), items=items)
            case Unnest():
                return replace(node, input=self._below(node.input))
        raise AssertionError(node)

    def _union(self, node: Union) -> Node:
        places = _places(node, self._needs[id(node)])
        branches = []
        for branch in node.branches:
            below = self._below(branch)
            wanted = [branch.columns[place] for place in places]
            if [column.id for column in below.columns] != [column.id for column in wanted]:
                below = Project(below, tuple(Item(column, column.ref) for column in wanted))
            branches.append(below)
        return Union(tuple(branches), tuple(node.outputs[place] for place in places))

    def _below(self, node: Node) -> Node:
        return self._done[id(node)]


def _wanted(node: Project, needed: set[str]) -> tuple[Item, ...]:
    """At least one column, where only the rows count."""
    return tuple(item for item in node.items if item.column.id in needed) or node.items[:1]


def _places(node: Union, needed: set[str]) -> list[int]:
    return [place for place, column in enumerate(node.outputs) if column.id in needed] or [0]


def _named(trees: Iterable[exp.Expr]) -> set[str]:
    return {name for tree in trees for name in columns_in(tree)}

"""Rules with one thing wrong each, to see that the random cases notice. `python -m tests.ivm.mutants NAME` runs one in
its own process, and ends with code 3 as soon as a case fails."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from itertools import islice
from pathlib import Path
from types import CodeType, ModuleType

KILLED = 3
SEEDS = 1500


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    module: str
    old: str
    new: str
    about: str = ""
    """What queries must have in their text to notice it; the others need not be run."""
    stateful: bool = False
    """Whether only a view with states can notice it."""


def _m(name: str, module: str, old: str, new: str, about: str = "") -> Mutant:
    return Mutant(name, f"snowmelt.ivm.{module}", old, new, about)


def _of_states(name: str, module: str, old: str, new: str) -> Mutant:
    return Mutant(name, f"snowmelt.ivm.{module}", old, new, "M", stateful=True)


_INNER_SIDES = "(other, When.NEW if index < position else When.OLD)"
_BOTH = "for when, weight in ((When.NEW, 1), (When.OLD, -1)):\n            "

MUTANTS = (
    _m("inner join: all others new", "operators.inner_join", _INNER_SIDES, "(other, When.NEW)"),
    _m("inner join: all others old", "operators.inner_join", _INNER_SIDES, "(other, When.OLD)"),
    _m("left change meets the old right", "operators.join",
       "rows(self.right, When.NEW, near)", "rows(self.right, When.OLD, near)"),
    _m("no rematch when the left changed too", "operators.join", "if right is not None:\n            terms +=",
       "if right is not None and left is None:\n            terms +="),
    _m("rematch of the new left rows", "operators.join",
       "rows(self.left, When.OLD, restriction_by(self.left, conditions, known))",
       "rows(self.left, When.NEW, restriction_by(self.left, conditions, known))"),
    _m("rematch without what was", "operators.join", _BOTH + "mine",
       _BOTH.replace(", (When.OLD, -1)", ",") + "mine"),
    _m("groups without what was", "changes", _BOTH + "rows", _BOTH.replace(", (When.OLD, -1)", ",") + "rows"),
    _m("netting by the largest weight", "changes", 'total = call("sum", exp', 'total = call("max", exp'),
    _m("DISTINCT never forgets", "operators.aggregate", "if change is not None and change.inserts_only:",
       "if change is not None:"),
    _m("a union is always inserts", "operators.union",
       "                inserts_only = inserts_only and change.inserts_only\n",
       "                inserts_only = True\n"),
    _m("an inner join is always inserts", "operators.inner_join",
       "            inserts_only = inserts_only and change.inserts_only\n            terms", "            terms"),
    _m("an outer join is inserts though the right changed", "operators.join",
       "left is not None and right is None and left.inserts_only", "left is None or left.inserts_only"),
    _m("time: the rows that are there now", "operators.filter", "rows(self.input, When.OLD), self.columns)",
       "rows(self.input, When.NEW), self.columns)", "CURRENT_"),
    _m("time: changes by the old clock", "operators.filter", "change.query, When.NEW, weighted=True)",
       "change.query, When.OLD, weighted=True)", "CURRENT_"),
    _m("time: rows only come", "operators.filter", "default=number(-1))", "default=number(1))", "CURRENT_"),
    _m("time: groups that did not change stay", "plan", "bottom.group_keys and not passing", "bottom.group_keys",
       "HAVING MAX"),
    _m("keys match by plain equality", "rendering",
       "same(exp.column(quoted(own), table=quoted(mine)), exp.column(quoted(theirs), table=quoted(alias)))",
       "exp.EQ(this=exp.column(quoted(own), table=quoted(mine)), "
       "expression=exp.column(quoted(theirs), table=quoted(alias)))"),
    _m("no recheck of the whole key", "rendering", "if restriction is None or exact:", "if True:"),
    _m("a projection forgets the recheck", "operators.project",
       "self._projected(renderer, below, when), exact and whole", "self._projected(renderer, below, when), exact"),
    _m("an inner join forgets the recheck", "operators.inner_join",
       "whole and inside is not None and inside.covers(restriction)", "whole"),
    _m("keys pushed below windows", "operators.windowed",
       "rows_below(renderer, when, restriction, ids_of(self.partition))",
       "rows_below(renderer, when, restriction, self.input.ids)", "OVER ("),
    _m("keys pushed below LIMIT", "operators.limit", "renderer.rows(self.input, when)",
       "renderer.rows(self.input, when, restriction)", "LIMIT"),
    _m("keys pushed into the NULL side", "operators.join", "right = renderer.rows(self.right, when, across)",
       "right = renderer.rows(self.right, when, restriction.only(self.right.ids) if restriction else None)"),
    _m("old tables are the new ones", "rendering", "return when if table in self._changed else When.NEW",
       "return When.NEW"),
    _m("RANK by all columns", "operators.windowed", "if not (rows or name in _ORDERED):", "if rows:"),
    _m("<= pushes keys like =", "algebra", "isinstance(condition, exp.EQ | exp.NullSafeEQ)",
       "isinstance(condition, exp.EQ | exp.NullSafeEQ | exp.LTE)"),
    _m("no zero for counts of nothing", "operators.aggregate",
       'value if empty is None else call("coalesce", value, empty)', "value", " (SELECT COUNT"),
    _m("scalar subqueries drop rows", "operators.aggregate",
       "joined = Join(JoinKind.LEFT, outer, grouped, all_of(on))",
       "from snowmelt.ivm.operators.inner_join import InnerJoin; joined = InnerJoin((outer, grouped), tuple(on))",
       " (SELECT COUNT"),
    _m("outer values match by plain equality", "subqueries",
       "return joined, [same(exp.column(quoted(name)), column.ref) for",
       "return joined, [exp.EQ(this=exp.column(quoted(name)), expression=column.ref) for", "(SELECT"),
    _m("no value for outer values without rows", "operators.aggregate",
       "joined = Join(JoinKind.LEFT, values, grouped, on)",
       "from snowmelt.ivm.operators.inner_join import InnerJoin; joined = InnerJoin((values, grouped), (on,))",
       "(SELECT"),
    _m("NOT IN forgets NULLs", "expressions",
       "self.node = InnerJoin((kept, facts), (known.ref, exp.Paren(this=ours)))", "self.node = kept", "NOT IN (SELECT"),
    _m("correlated NOT IN forgets NULLs", "expressions",
       "decorrelation.filtered(JoinKind.ANTI, self.node, inner.root, maybe)",
       "decorrelation.filtered(JoinKind.ANTI, self.node, inner.root, pairs)", "NOT IN (SELECT"),
    _m("IN is never unknown", "expressions", "exp.If(this=positive[1], true=exp.null())",
       "exp.If(this=positive[1], true=exp.false())", " IN (SELECT"),
    _m("FULL JOIN without unmatched right rows", "operators.join", "Union((matched, unmatched), outputs)",
       "Union((matched,), outputs)"),
    _of_states("an extreme that went stays", "state_rows", "exp.and_(went, exp.Not(", "exp.and_(exp.false(), exp.Not("),
    _of_states("the oldest extreme counts", "states", 'call("max_by", column', 'call("min_by", column'),
    _of_states("extremes only move inwards", "state_rows", '"least" if partial.is_least else "greatest"',
               '"greatest" if partial.is_least else "least"'),
    _m("FLOAT sums as a bag", "plan", "if self._inexact & {column.id for _, column in self.view.outputs}:",
       "if False:"),
)  # fmt: skip


class _Loader(SourceFileLoader):
    """Compiles the module's source with the mutant in it."""

    def __init__(self, mutant: Mutant, path: str) -> None:
        super().__init__(mutant.module, path)
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        source = Path(self.path).read_text()
        mutant = self._mutant
        assert source.count(mutant.old) == 1, f"{mutant.name}: its place is gone from {mutant.module}"
        return compile(source.replace(mutant.old, mutant.new), self.path, "exec")


class _Finder(MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._mutant.module:
            return None
        found = PathFinder.find_spec(fullname, path, target)
        assert found is not None
        assert found.origin is not None
        return spec_from_file_location(fullname, found.origin, loader=_Loader(self._mutant, found.origin))


def main(name: str) -> int:
    mutant = next(mutant for mutant in MUTANTS if mutant.name == name)
    sys.meta_path.insert(0, _Finder(mutant))
    cases = import_module("tests.ivm.cases")
    make = import_module("tests.ivm.views").StatefulView if mutant.stateful else import_module("tests.ivm.duck").View
    seeds = (seed for seed in range(20 * SEEDS) if mutant.about in cases.make_case(seed).query)
    _, failures = cases.run_seeds(islice(seeds, SEEDS), make, until_failure=True)
    if failures:
        sys.stdout.write(f"noticed at {failures[0][:300]!r}\n")
        return KILLED
    sys.stdout.write(f"not noticed by {SEEDS} queries\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

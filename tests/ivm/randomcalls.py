"""Random aggregates and window functions over the columns in sight."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Output:
    name: str
    code: str
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Source:
    alias: str
    columns: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class Scope:
    sources: tuple[Source, ...]
    outer: Scope | None = None

    def columns(self, code: str | None = None, *, inexact: bool = False) -> list[tuple[str, Output]]:
        return [
            (f"{source.alias}.{column.name}", column)
            for source in self.sources
            for column in source.columns
            if (code is None or column.code == code) and (column.exact or inexact)
        ]


Item = tuple[str, str, bool]
"""The text, the type, and whether two computations of it give the same bits."""


class RandomCalls:
    def __init__(
        self,
        rnd: random.Random,
        scope: Scope,
        value: Callable[[Scope, str], str],
        test: Callable[[Scope], str],
    ) -> None:
        self.rnd = rnd
        self.scope = scope
        self._value = value
        self._test = test
        self._order: str | None = None

    def aggregate(self, code: str) -> Item:
        """An aggregate whose result has the type."""
        kind = self.rnd.random()
        if code == "I":
            return self._integer(kind), "I", True
        if code == "F" and kind < 0.7:
            return self._float(kind)
        if code == "N" and kind < 0.5:
            return f"SUM({self._value(self.scope, 'N')})", "N", True
        if code == "B" and kind < 0.6:
            name = self.rnd.choice(("BOOLOR_AGG", "BOOLAND_AGG"))
            return f"{name}({self._value(self.scope, 'B')})", "B", True
        if code == "S" and kind < 0.4:
            value = self._value(self.scope, "S")
            distinct = self.rnd.choice(("", "DISTINCT "))
            return f"LISTAGG({distinct}{value}, ',') WITHIN GROUP (ORDER BY {value})", "S", False
        return f"{self.rnd.choice(('MIN', 'MAX'))}({self._value(self.scope, code)})", code, True

    def _integer(self, kind: float) -> str:
        columns = self.scope.columns()
        name = self.rnd.choice(columns)[0] if columns else "1"
        if kind < 0.2:
            return "COUNT(*)"
        if kind < 0.3:
            return f"COUNT({name})"
        if kind < 0.42:
            return f"COUNT(DISTINCT {name})"
        if kind < 0.5 and columns:
            return f"COUNT_IF({self._test(self.scope)})"
        value = self._value(self.scope, "I")
        if kind < 0.75:
            return f"SUM({value})"
        return self.rnd.choice(
            (
                "MIN({})",
                "MAX({})",
                "SUM(DISTINCT {})",
                "BITOR_AGG(ABS({}))",
                "MIN({}) + COUNT(*)",
                "APPROX_COUNT_DISTINCT({})",
            )
        ).format(value)

    def _float(self, kind: float) -> Item:
        columns = self.scope.columns("F", inexact=True)
        numbers = self.scope.columns("I")
        if columns and (kind < 0.5 or not numbers):
            return f"{self.rnd.choice(('SUM', 'AVG'))}({self.rnd.choice(columns)[0]})", "F", False
        value = self.rnd.choice(numbers)[0] if numbers else "1"
        return f"{self.rnd.choice(('STDDEV', 'MEDIAN', 'AVG', 'VAR_POP'))}({value})::FLOAT", "F", False

    # -- windows --------------------------------------------------------------------------------------------------

    def window(self, code: str, partition: Sequence[str]) -> Item | None:
        """A window function whose result has the type; None where the order would not be total."""
        by = f"PARTITION BY {', '.join(partition)}"
        value = self._value(self.scope, code)
        kind = self.rnd.random()
        total = self._total()
        if code == "I" and kind < 0.2:
            return self._ranking(by), "I", True
        if code in "IN" and kind < 0.35:
            order = f" ORDER BY {self.rnd.choice(self.scope.columns())[0]}" if self.rnd.random() < 0.5 else ""
            name = "COUNT" if code == "I" and self.rnd.random() < 0.3 else "SUM"

            return f"{name}({value}) OVER ({by}{order})", code, True
        if code == "F" and kind < 0.3:
            return f"SUM({value}) OVER ({by})", "F", False
        if total is None or kind < 0.5:
            return f"{self.rnd.choice(('MIN', 'MAX'))}({value}) OVER ({by})", code, True
        if code == "I" and kind < 0.7:
            return f"SUM({value}) OVER ({by} ORDER BY {total} {self._frame()})", "I", True
        name = self.rnd.choice(
            ("LAG({})", "LEAD({})", "FIRST_VALUE({})", "LAST_VALUE({})", "LAG({}, 2)", "NTH_VALUE({}, 2)")
        )
        return f"{name.format(value)} OVER ({by} ORDER BY {total})", code, True

    def numbering(self, partition: Sequence[str]) -> str | None:
        """A number for each row of its partition, for QUALIFY."""
        by = f"PARTITION BY {', '.join(partition)}"
        total = self._total()
        if total is None or self.rnd.random() < 0.3:
            return self._ranking(by)
        return f"ROW_NUMBER() OVER ({by} ORDER BY {total})"

    def _ranking(self, by: str) -> str:
        name = self.rnd.choice(("RANK()", "DENSE_RANK()", "COUNT(*)"))
        way = self.rnd.choice(("", " DESC", " NULLS FIRST", " DESC NULLS LAST"))
        return f"{name} OVER ({by} ORDER BY {self.rnd.choice(self.scope.columns())[0]}{way})"

    def _total(self) -> str | None:
        """All columns, so that rows which are equal in the order are equal in all.

        One order for a whole SELECT: of two equal rows, the first in one order may be the second in another, and which
        values come together in a row would be anybody's choice.
        """
        columns = self.scope.columns(inexact=True)
        if not all(column.exact for _, column in columns):
            return None
        if self._order is None:
            names = [name for name, _ in columns]
            self.rnd.shuffle(names)
            self._order = ", ".join(f"{name}{self.rnd.choice(('', '', ' DESC'))}" for name in names)
        return self._order

    def _frame(self) -> str:
        start = self.rnd.choice(("UNBOUNDED PRECEDING", "1 PRECEDING", "CURRENT ROW"))
        return f"ROWS BETWEEN {start} AND {self.rnd.choice(('CURRENT ROW', '1 FOLLOWING', 'UNBOUNDED FOLLOWING'))}"

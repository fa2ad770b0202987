"""Whether a table is what a contract says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from snowmelt.govern.contracts.model import Contract, DescribedTable, TableColumn


class BreachKind(StrEnum):
    MISSING = "missing"
    UNDECLARED = "undeclared"
    TYPE = "type"
    NULLABLE = "nullable"
    ORDER = "order"


@dataclass(frozen=True, slots=True)
class Breach:
    kind: BreachKind
    column: str
    message: str

    def __str__(self) -> str:
        return self.message


def breaches(
    contract: Contract, described: DescribedTable, columns: Sequence[TableColumn], *, nullability: bool = True
) -> tuple[Breach, ...]:
    """All that keeps a table with these columns from satisfying the contract.

    `nullability`: whether NOT NULL is asked for; a view can't say it.
    """
    return tuple(_breaches(contract, described, columns, nullability=nullability))


def _breaches(
    contract: Contract, described: DescribedTable, columns: Sequence[TableColumn], *, nullability: bool
) -> Iterator[Breach]:
    present = {column.name: column for column in columns}
    for declared in described.columns:
        name, column = declared.name, present.get(declared.name)
        if column is None:
            yield Breach(BreachKind.MISSING, name, f"column {name} is missing")
            continue
        if not declared.type.admits(column.type):
            message = f"column {name} is declared as {declared.type}, and is {column.type}"
            yield Breach(BreachKind.TYPE, name, message)
        if nullability and declared.required and column.nullable:
            yield Breach(BreachKind.NULLABLE, name, f"column {name} is required, and may be NULL")
    if not contract.open:
        for column in columns:
            if described.find(column.name) is None:
                yield Breach(BreachKind.UNDECLARED, column.name, f"column {column.name} is not declared")
    yield from _order(contract, described, columns)


def _order(contract: Contract, described: DescribedTable, columns: Sequence[TableColumn]) -> Iterator[Breach]:
    """Declared columns come first, in their order: a position is what such a contract promises."""
    if not contract.ordered:
        return
    present = {column.name for column in columns}
    wanted = [column.name for column in described.columns if column.name in present]
    actual = [column.name for column in columns][: len(wanted)]
    if actual != wanted:
        first = next(name for name, found in zip(wanted, actual, strict=False) if name != found)
        yield Breach(BreachKind.ORDER, first, f"the order of columns is declared as {', '.join(wanted)}")

"""What must be true of an account, by what was begun, acknowledged and refused in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Event = dict[str, Any]


@dataclass
class Model:
    """Rows with ids that are never used twice. What is under way, or ended without an answer, may be there or not."""

    there: set[int] = field(default_factory=set)
    open: dict[str, Event] = field(default_factory=dict)
    """Units that began, by their names: what they add, drop and count."""
    counted: int = 0
    tokens: dict[str, int] = field(default_factory=dict)
    """The committed token of each channel that its writer saw."""

    def apply(self, event: Event) -> None:
        unit = event.get("unit", "")
        match event["what"]:
            case "begin":
                self.open[unit] = event
            case "done":
                begun = self.open.pop(unit)
                self.there = self.there - set(begun["drops"]) | set(begun["adds"])
                self.counted += begun["counts"]
            case "void":
                self.open.pop(unit)
            case "token":
                self.tokens[event["channel"]] = event["token"]
            case "found":
                # After a recovery nothing is open: what is there is there.
                self.there, self.counted, self.open = set(event["ids"]), event["counted"], {}

    def check_ids(self, found: set[int], *, before: Model | None = None) -> str | None:
        """What is wrong with what was found; `before`: the model when the reader began."""
        model = before or self
        units = [*model.open.values(), *self.open.values()]
        perhaps = {id_ for unit in units for id_ in (*unit["adds"], *unit["drops"])}
        certain = model.there & self.there
        lost, invented = certain - found - perhaps, found - model.there - self.there - perhaps
        for unit in units:
            adds = set(unit["adds"])
            if adds & found and not adds <= found and not (adds - found) & (self.there | model.there):
                return f"{unit} is there in part: {sorted(adds & found)}"
        if lost or invented:
            return f"lost {sorted(lost)}, invented {sorted(invented)}"
        return None

    def check_count(self, found: int, *, before: Model | None = None) -> str | None:
        """Of a counter that units increase: no increase is lost, none is made twice."""
        least = (before or self).counted
        most = self.counted + sum(unit["counts"] for unit in self.open.values())
        return None if least <= found <= most else f"counted {found}, not {least} to {most}"

    def copy(self) -> Model:
        return Model(set(self.there), dict(self.open), self.counted, dict(self.tokens))


def check_changes(changes: list[tuple[int, str]], rows: set[int], pending: list[tuple[int, str]]) -> str | None:
    """Changes that were taken from a stream, and those that still wait in it, make the table, each once."""
    balance: dict[int, int] = {}
    for id_, action in (*changes, *pending):
        balance[id_] = balance.get(id_, 0) + (1 if action == "INSERT" else -1)
    wrong = {id_: count for id_, count in balance.items() if count != (id_ in rows)}
    missing = rows - set(balance)
    seen = [change for change in {*changes} if changes.count(change) > 1]
    if wrong or missing or seen:
        return f"not once: {wrong}, never told: {sorted(missing)}, told again: {seen}"
    return None


def check_sequence(numbers: list[int], upto: int) -> str | None:
    """Rows that are numbered from 0 are there once, up to the committed place."""
    wanted = list(range(upto + 1))
    return None if sorted(numbers) == wanted else f"{sorted(numbers)} instead of 0 to {upto}"

"""Random statements with known effects, and what a killed process may have left of them.

Every session works in tables of its own, whose whole content it knows, and in tables that all share, where it adds and
deletes rows that carry its number. So what a session did can be told apart from what the others did at the same time.
A unit is what becomes visible at once: one statement, or BEGIN … COMMIT over several tables.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SHARED = ("SHARED_A", "SHARED_B")
OWN = ("X", "Y", "Z")
COLUMNS = "(ID INT, NOTE VARCHAR)"
_MOST_ROWS = 24

Rows = list[list[Any]]
"""Rows of one table as [id, note], sorted."""
State = dict[str, Rows]
"""One session's view: its own tables that exist, and its rows in the shared ones."""


def shared_rows(rows: Rows, session: int) -> Rows:
    """The rows of a shared table that belong to a session."""
    return [row for row in rows if row[1].startswith(f"s{session}.")]


def own_name(session: int, name: str) -> str:
    return f"S{session}_{name}"


@dataclass
class Unit:
    """Statements that become visible together, and the session's state after them."""

    statements: list[str]
    after: State
    ends: str = "COMMIT"
    """How an explicit transaction ends; a rolled-back one has no effect."""


@dataclass
class Session:
    """Makes up one session's units. It knows the state without asking the database."""

    number: int
    random: random.Random
    state: State
    next_id: int
    spark: bool = False
    shared_only: bool = False
    """Works in the shared tables alone."""
    counter: int = field(default=0)

    def unit(self) -> Unit:
        if self.random.random() < 0.3:
            return self._transaction()
        defines = not self.shared_only and self.random.random() < 0.25
        statement = self._definition() if defines else self._change(self.state)
        return Unit([statement[0]], statement[1])

    def _transaction(self) -> Unit:
        state = copy.deepcopy(self.state)
        statements = ["BEGIN"]
        for _ in range(self.random.randint(1, 5)):
            statement, state = self._change(state)
            statements.append(statement)
        ends = self.random.choice(["COMMIT", "COMMIT", "COMMIT", "ROLLBACK"])
        return Unit([*statements, ends], state if ends == "COMMIT" else self.state, ends)

    # Statements: each returns its text and the state after it.

    def _definition(self) -> tuple[str, State]:
        state = copy.deepcopy(self.state)
        name = own_name(self.number, self.random.choice(OWN))
        others = [table for table in state if table not in SHARED]
        if name not in state:
            state[name] = []
            return f"CREATE TABLE {name} {COLUMNS}", state
        choice = self.random.randrange(3 if not self.spark else 5)
        if choice == 0:
            del state[name]
            return f"DROP TABLE {name}", state
        if choice == 1:
            state[name] = []
            return f"CREATE OR REPLACE TABLE {name} {COLUMNS}", state
        source = self.random.choice(others)
        state[name] = list(state[source])
        if choice == 2:
            return f"CREATE OR REPLACE TABLE {name} CLONE {source}", state
        return f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM {source}", state

    def _change(self, state: State) -> tuple[str, State]:
        state = copy.deepcopy(state)
        name = self.random.choice(SHARED if self.shared_only else [*SHARED, *sorted(state)])
        rows = state[name]
        kinds = ["insert", "insert", "insert"]
        if rows:
            kinds += ["delete", "delete"]
        if name not in SHARED:
            kinds += ["truncate", "overwrite"]
            if self.spark:
                kinds += ["select", "update", "merge"]
        kind = self.random.choice(kinds) if len(rows) < _MOST_ROWS else "delete"
        statement, state[name] = getattr(self, f"_{kind}")(name, rows)
        state[name].sort()
        return statement, state

    def _new_rows(self) -> Rows:
        rows = []
        for _ in range(self.random.randint(1, 4)):
            self.counter += 1
            rows.append([self.next_id + self.counter, f"s{self.number}.{self.counter}"])
        return rows

    def _insert(self, name: str, rows: Rows) -> tuple[str, Rows]:
        new = self._new_rows()
        return f"INSERT INTO {name} VALUES {_values(new)}", rows + new

    def _overwrite(self, name: str, _: Rows) -> tuple[str, Rows]:
        new = self._new_rows()
        return f"INSERT OVERWRITE INTO {name} VALUES {_values(new)}", new

    def _truncate(self, name: str, _: Rows) -> tuple[str, Rows]:
        return f"TRUNCATE TABLE {name}", []

    def _delete(self, name: str, rows: Rows) -> tuple[str, Rows]:
        gone = self.random.choice(rows)[0]
        return f"DELETE FROM {name} WHERE ID = {gone}", [row for row in rows if row[0] != gone]

    def _select(self, name: str, rows: Rows) -> tuple[str, Rows]:
        step = self.random.randint(1, 9) * 10_000_000
        text = f"INSERT INTO {name} SELECT ID + {step}, NOTE || '+' FROM {name} WHERE ID < 10000000"
        return text, rows + [[row[0] + step, f"{row[1]}+"] for row in rows if row[0] < 10_000_000]

    def _update(self, name: str, rows: Rows) -> tuple[str, Rows]:
        text = f"UPDATE {name} SET NOTE = NOTE || '*' WHERE MOD(ID, 3) = 0"
        return text, [[row[0], f"{row[1]}*"] if row[0] % 3 == 0 else list(row) for row in rows]

    def _merge(self, name: str, rows: Rows) -> tuple[str, Rows]:
        new = self._new_rows()
        known = [[row[0], f"s{self.number}.m"] for row in rows[:2]]
        text = (
            f"MERGE INTO {name} t USING (SELECT column1 AS ID, column2 AS NOTE FROM VALUES {_values(new + known)}) s"
            " ON t.ID = s.ID WHEN MATCHED THEN UPDATE SET NOTE = s.NOTE"
            " WHEN NOT MATCHED THEN INSERT (ID, NOTE) VALUES (s.ID, s.NOTE)"
        )
        changed = {row[0]: row[1] for row in known}
        return text, [[row[0], changed.get(row[0], row[1])] for row in rows] + new


def _values(rows: Rows) -> str:
    return ", ".join(f"({id_}, '{note}')" for id_, note in rows)


class Log:
    """What the parent is told: written before a unit starts and after it returned. Survives the process."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)

    def write(self, session: int, event: str, **more: Any) -> None:
        self._file.write(json.dumps({"session": session, "event": event, **more}).encode() + b"\n")


@dataclass
class Possible:
    """What a session's state may be after its process was killed."""

    certain: State
    perhaps: State | None = None
    """Also right: the effect of the unit that was under way. All of it, in every table."""
    under_way: list[str] = field(default_factory=list)

    def allows(self, state: State) -> bool:
        return state == self.certain or (self.perhaps is not None and state == self.perhaps)


def read_log(path: Path, before: dict[int, State]) -> dict[int, Possible]:
    """What each session may have left, going by what it acknowledged."""
    found = {session: Possible(state) for session, state in before.items()}
    for line in path.read_bytes().splitlines() if path.exists() else []:
        entry = json.loads(line)
        possible = found[entry["session"]]
        match entry["event"]:
            case "start":
                possible.perhaps, possible.under_way = entry["after"], entry["statements"]
            case "done":
                assert possible.perhaps is not None
                found[entry["session"]] = Possible(possible.perhaps)
            case "failed":
                found[entry["session"]] = Possible(possible.certain)
    return found


def views(tables: dict[str, Rows], sessions: Iterable[int]) -> dict[int, State]:
    """The tables of an account as each session should know them."""
    return {
        session: {
            **{name: shared_rows(tables[name], session) for name in SHARED},
            **{name: rows for name, rows in tables.items() if name.startswith(f"S{session}_")},
        }
        for session in sessions
    }

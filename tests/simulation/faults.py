"""What goes wrong in a simulated life, at which of its steps."""

from __future__ import annotations

import errno
import importlib
import os
import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from snowmelt.core import faults
from tests.simulation import threads

CRASHED = 89


@dataclass
class Plan:
    """Nothing happens before it is armed, so that a life can look at what the one before left."""

    simulator: threads.Simulator
    random: random.Random
    crash_at: int | None
    """After so many armed steps."""
    failing: float
    """How likely a call of storage or state fails."""
    pausing: float
    """How likely a thread stands still at a step."""
    jumping: float
    slow: float
    """How many seconds such a call takes at most."""
    armed: bool = False
    steps: int = 0
    done: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, chance: random.Random, simulator: threads.Simulator, *, crashes: bool) -> Plan:
        crash_at = int(10 ** chance.uniform(1.0, 3.3)) if crashes else None
        plan = cls(
            simulator, random.Random(chance.random()), crash_at, chance.choice((0, 0, 0.01, 0.05)),
            chance.choice((0, 0, 0.01)), chance.choice((0, 0, 0.005)), chance.choice((0.0, 0.0, 0.5, 5.0)),
        )  # fmt: skip
        simulator.on_step = plan.step
        return plan

    def step(self, what: str) -> None:
        if not self.armed:
            return
        self.steps += 1
        if self.crash_at is not None and self.steps >= self.crash_at:
            print(f"crash at {what} of {self.simulator.current.name}, step {self.simulator.steps}", flush=True)
            os._exit(CRASHED)
        chance = self.random.random()
        if chance < self.pausing:
            self.done["pause"] += 1
            self.simulator.pause(self.random.expovariate(1 / 40))
        elif chance > 1 - self.jumping:
            self.done["clock"] += 1
            self.simulator.wall_offset += self.random.choice((-3600.0, -5.0, 5.0, 3600.0))

    def call(self, what: str, do: Callable[[], Any], error: Exception) -> Any:
        """A call that may be slow, fail, or succeed with an answer that is lost."""
        simulator = self.simulator
        simulator.step(what)
        if not self.armed:
            return do()
        if self.slow:
            simulator.pause(self.random.random() * self.slow)
        chance = self.random.random()
        if chance < self.failing / 2:
            self.done[f"{what} failed"] += 1
            raise error
        found = do()
        simulator.step(f"{what} done")
        if chance > 1 - self.failing / 2:
            self.done[f"{what} lost"] += 1
            raise error
        return found


_plans: list[Plan] = []
"""The one of this life, once it has begun."""


def begin(plan: Plan) -> None:
    """From now on storage and state are called through the plan."""
    _plans.append(plan)
    # Imported late: what they import must find `reached` replaced.
    connections = importlib.import_module("snowmelt.state.connections")
    log = importlib.import_module("snowmelt.storage.log")
    commit, put_new = connections._commit, log.LocalLogStore.put_new

    def commit_through(*given: Any) -> None:
        plan.call("state commit", lambda: commit(*given), sqlite3.OperationalError("disk I/O error"))

    def put_through(store: Any, name: str, content: bytes) -> None:
        failure = OSError(errno.ENOSPC, "No space left on device")
        plan.call("log entry", lambda: put_new(store, name, content), failure)

    threads.put(connections, _commit=commit_through)
    threads.put(log.LocalLogStore, put_new=put_through)


def _reached(point: str) -> None:
    for plan in _plans:
        plan.simulator.step(point)


def install() -> None:
    """Before what reaches points is imported."""
    threads.put(faults, reached=_reached)

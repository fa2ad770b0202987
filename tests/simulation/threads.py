"""Threads that take turns: one runs at a time, and a seed decides which goes on at every step.

`install` replaces what `threading`, `queue` and `time` are made of, before anything of Snowmelt is imported. Outside a
simulation all works as ever. Inside one, each thread is a real thread of its own that waits until it is given the turn;
locks, waits and sleeps are bookkeeping, and time is a number that moves when nobody can run.
"""

from __future__ import annotations

import _thread
import hashlib
import os
import queue
import random
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_NEVER = float("inf")
_STEP_SECONDS = 1e-4
"""How much later it is after a step."""
_EPOCH = 1_830_297_600.0
"""The first of January 2028. Files have the real time, so that all of them are older than any limit of age."""

_real_start = threading.Thread.start
_real_join = threading.Thread.join
_real_is_alive = threading.Thread.is_alive
_real_time = {name: getattr(time, name) for name in ("monotonic", "time", "time_ns", "perf_counter", "sleep")}


def put(into: object, **values: Any) -> None:
    """Replaces attributes of a module, a class or an object."""
    for name, value in values.items():
        setattr(into, name, value)


@dataclass(eq=False)
class Task:
    number: int
    name: str
    gate: Any = field(default_factory=_thread.allocate_lock)
    waiting: bool = False
    until: float = 0.0
    """When a wait ends by itself; for one that does not wait, the end of a pause."""
    timed_out: bool = False
    done: bool = False
    joiners: list[Task] = field(default_factory=list)
    ident: int = 0

    def __post_init__(self) -> None:
        self.gate.acquire()


class Simulator:
    """Gives the turn to one thread after another. `on_step` is called at every step, and may end the process."""

    def __init__(self, seed: str, *, restless: float) -> None:
        self.random = random.Random(seed)
        self.restless = restless
        """How likely another thread goes on at a step; 1 over the mean number of steps between two turns."""
        self._next_switch = 0 if restless else sys.maxsize
        self.now = 1000.0
        self.wall_offset = 0.0
        self.steps = 0
        self.switches = 0
        self.on_step: Callable[[str], None] = lambda what: None
        self.digest = hashlib.sha256()
        self.log: list[str] | None = None
        self.tasks = [Task(0, "main")]
        self.current = self.tasks[0]
        self.current.ident = _thread.get_ident()

    # -- what happens at a step

    def step(self, what: str) -> None:
        """At something that others, or a later life, can see."""
        self._note(what)
        self.on_step(what)
        self.lock_step()

    def lock_step(self) -> None:
        self.steps += 1
        self.now += _STEP_SECONDS
        if self.steps >= self._next_switch:
            self._next_switch = self.steps + 1 + int(self.random.expovariate(self.restless))
            self._give_turn()

    def _note(self, what: str) -> None:
        line = f"{self.steps} {self.now:.4f} {self.current.name} {what}"
        self.digest.update(line.encode())
        if self.log is not None:
            self.log.append(line)

    def pause(self, seconds: float) -> None:
        """The thread that has the turn stands still, as one does that the operating system forgets."""
        self.current.until = self.now + seconds
        self._give_turn()

    def wait(self, until: float = _NEVER) -> bool:
        """Until somebody wakes the thread, or it is so late. False when nobody did."""
        task = self.current
        task.waiting, task.until, task.timed_out = True, until, False
        self._give_turn()
        return not task.timed_out

    def wake(self, task: Task) -> None:
        if task.waiting:
            task.waiting, task.until, task.timed_out = False, self.now, False

    def finish(self, task: Task) -> None:
        task.done = True
        for joiner in task.joiners:
            self.wake(joiner)
        self.tasks.remove(task)
        self._next().gate.release()

    def _give_turn(self) -> None:
        before, after = self.current, self._next()
        if after is not before:
            self.switches += 1
            self._note("goes on")
            after.gate.release()
            before.gate.acquire()

    def _next(self) -> Task:
        ready = [task for task in self.tasks if not task.waiting and task.until <= self.now]
        if not ready:
            first = min(self.tasks, key=lambda task: (task.until, task.number))
            if first.until == _NEVER:
                self._report_stuck()
            self.now = max(self.now, first.until)
            ready = [first]
        for task in self.tasks:
            if task.waiting and task.until <= self.now:
                task.waiting, task.timed_out = False, True
        chosen = self.random.choice(ready)
        self.current = chosen
        return chosen

    def _report_stuck(self) -> None:
        frames = sys._current_frames()
        for task in self.tasks:
            print(f"--- {task.name} waits: {task.waiting}, until {task.until}, now {self.now}", file=sys.stderr)
            if task.ident in frames:
                traceback.print_stack(frames[task.ident], limit=None, file=sys.stderr)
        sys.stderr.flush()
        os._exit(STUCK)

    # -- threads

    def start(self, thread: threading.Thread) -> None:
        task = Task(len(self.tasks) + self.steps * 1000, thread.name)
        self.tasks.append(task)
        put(thread, _simulated=task, _started=_RawEvent())
        run = thread.run

        def taking_turns() -> None:
            task.ident = _thread.get_ident()
            task.gate.acquire()
            try:
                run()
            except SystemExit:
                pass
            except BaseException:
                traceback.print_exc()
            finally:
                self.finish(task)

        put(thread, run=taking_turns)
        _real_start(thread)
        self.lock_step()


STUCK = 86


class _Now:
    """What all locks of the process look at."""

    simulator: Simulator | None = None


def activate(simulator: Simulator) -> None:
    """In a process that was just forked: a fork renews these two locks, which threads use before they have a turn."""
    put(threading, _active_limbo_lock=_thread.RLock(), _shutdown_locks_lock=_thread.allocate_lock())
    _Now.simulator = simulator


class _RawEvent:
    """What a thread tells its parent when it has begun, which no simulation is concerned with."""

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._lock.acquire()
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        with self._lock:
            return True


class Lock:
    """`threading.Lock`: the real one outside a simulation."""

    __slots__ = ("__weakref__", "_held", "_real", "_waiters")

    def __init__(self) -> None:
        self._real = _thread.allocate_lock()
        self._held = False
        self._waiters: list[Task] = []

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        simulator = _Now.simulator
        if simulator is None:
            return self._real.acquire(blocking, timeout)
        simulator.lock_step()
        until = simulator.now + timeout if timeout >= 0 else _NEVER
        while self._held:
            if not blocking or simulator.now >= until:
                return False
            self._waiters.append(simulator.current)
            simulator.wait(until)
            if simulator.current in self._waiters:
                self._waiters.remove(simulator.current)
        self._held = True
        return True

    def release(self) -> None:
        simulator = _Now.simulator
        if simulator is None:
            self._real.release()
            return
        if not self._held:
            raise RuntimeError("release unlocked lock")
        self._held = False
        for task in self._waiters:
            simulator.wake(task)
        self._waiters.clear()

    def locked(self) -> bool:
        return self._held if _Now.simulator is not None else self._real.locked()

    def _at_fork_reinit(self) -> None:
        self._real, self._held = _thread.allocate_lock(), False

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def _start(thread: threading.Thread) -> None:
    if _Now.simulator is None:
        _real_start(thread)
    else:
        _Now.simulator.start(thread)


def _join(thread: threading.Thread, timeout: float | None = None) -> None:
    task: Task | None = getattr(thread, "_simulated", None)
    simulator = _Now.simulator
    if task is None or simulator is None:
        _real_join(thread, timeout)
        return
    until = _NEVER if timeout is None else simulator.now + max(timeout, 0.0)
    while not task.done and simulator.now < until:
        task.joiners.append(simulator.current)
        simulator.wait(until)


def _is_alive(thread: threading.Thread) -> bool:
    task: Task | None = getattr(thread, "_simulated", None)
    return not task.done if task is not None else _real_is_alive(thread)


def _monotonic() -> float:
    simulator = _Now.simulator
    return simulator.now if simulator is not None else float(_real_time["monotonic"]())


def wall_time() -> float:
    simulator = _Now.simulator
    return _EPOCH + simulator.now + simulator.wall_offset if simulator is not None else float(_real_time["time"]())


def _wall_nanoseconds() -> int:
    return int(wall_time() * 1e9)


def _sleep(seconds: float) -> None:
    simulator = _Now.simulator
    if simulator is None:
        _real_time["sleep"](seconds)
        return
    until = simulator.now + seconds
    while simulator.now < until:
        simulator.wait(until)


def install() -> None:
    """Once, first of all."""
    put(threading, Lock=Lock, _allocate_lock=Lock, _CRLock=None, _time=_monotonic)
    put(threading.Thread, start=_start, join=_join, is_alive=_is_alive)
    put(queue, SimpleQueue=vars(queue)["_PySimpleQueue"], time=_monotonic)
    put(time, monotonic=_monotonic, perf_counter=_monotonic, time=wall_time, time_ns=_wall_nanoseconds, sleep=_sleep)

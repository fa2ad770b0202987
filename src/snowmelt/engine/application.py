"""The one Spark application of this process, kept alive.

Accounts share it: the first starts it, the last stops it. One thread, the keeper, starts it, watches its Java process
and, when that is gone, starts another. Each life has a number; what was made in one life is of no use in the next.
"""

from __future__ import annotations

import atexit
import gc
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYetError
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from snowmelt.core import errors
from snowmelt.core.backoff import pause_after
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.lazy import lazy_imports
from snowmelt.engine.asking import Asker, finishes
from snowmelt.engine.session import start

with lazy_imports():
    from snowmelt.engine import jvm, pulse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = structlog.get_logger(__name__)
SPARK_FOLDER = "spark"
"""The folder in a data directory for Spark's log and its own files."""
_LOOK_SECONDS = 0.25
"""How often the keeper looks whether the process lives, and a waiting statement whether it was cancelled."""
_PING_SECONDS = 10.0
SILENCE_SECONDS = 60.0
"""How long Spark may not answer. A process that collects garbage all the time is as good as dead."""
_HUSHED = 1 / 6
"""After so much of that time it counts as silent."""
_START_SECONDS = 300.0
"""How long Java and Spark may take to start, on a machine with much else to do."""
_SETTLED_SECONDS = 20.0
"""A process that lived so long did not die of its start; the next one gets all chances again."""
_QUICK_RESTARTS = 2
"""After this many deaths in a row the engine counts as broken. Before that it is started again at once."""
_LONGEST_PAUSE = 60.0
_DEATH_SECONDS = 10.0
"""A process that is killed closes its connections before one can see that it is gone."""
_KNOWN_LOSSES = 20
_STOP_SECONDS = 3.0
_LEAVE_SECONDS = 10.0
"""How long Spark's context may take to stop in order."""


class EngineState(StrEnum):
    IDLE = "idle"
    """Nobody has needed it yet."""
    STARTING = "starting"
    READY = "ready"
    SILENT = "silent"
    """It does not answer. If that goes on, its process is replaced."""
    BROKEN = "broken"
    """It could not be started, or dies again and again. It is tried again, less and less often."""


@dataclass(frozen=True, slots=True)
class Health:
    state: EngineState
    reason: str | None = None
    """Why it is broken, or is being started again."""
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class Loss:
    """How a life ended."""

    reason: str
    blamed: bool = False
    """It was ended because of one statement, which is known and gets an error of its own."""


@dataclass(frozen=True, slots=True)
class Life:
    number: int
    session: SparkSession


class Application:
    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._users = 0
        self._asked: tuple[Mapping[str, str], Path] | None = None
        """Settings and folder of the account that came first."""
        self._silence_seconds = SILENCE_SECONDS
        self._waiting_since: float | None = None
        """Since when a question of the keeper's has no answer."""
        self._keeper: threading.Thread | None = None
        self._life: Life | None = None
        self._number = 0
        self._state = EngineState.IDLE
        self._reason: str | None = None
        self._failure: SnowmeltError | None = None
        self._deaths = 0
        """In a row, failed starts included."""
        self._restarts = 0
        self._sound = False
        self._suspected = False
        self._condemned: str | None = None
        self._losses: dict[int, Loss] = {}
        """By number of the life."""

    # -- for accounts ---------------------------------------------------------------------------------------------

    def join(
        self, settings: Mapping[str, str], work_dir: Path, silence_seconds: float = SILENCE_SECONDS
    ) -> None:  # fmt: skip
        """The application is wanted from now on. Settings that Spark reads at its start are those of the first.

        When it has not answered for `silence_seconds`, its process is replaced.
        """
        with self._changed:
            self._users += 1
            if self._keeper is None or not self._keeper.is_alive():
                self._asked = (settings, work_dir)
                self._silence_seconds = silence_seconds
                self._state, self._reason, self._failure = EngineState.STARTING, None, None
                self._deaths = self._restarts = 0
                self._keeper = threading.Thread(target=self._keep, name="snowmelt-engine", daemon=True)
                self._keeper.start()

    def leave(self) -> None:
        with self._changed:
            self._users -= 1
            self._changed.notify_all()
            keeper = self._keeper if self._users == 0 else None
        if keeper is not None:
            # One that is in the middle of a start ends after it, and the process ends with ours in any case.
            keeper.join(_STOP_SECONDS)

    def life(self, check: Callable[[], None]) -> Life:
        """The present life, waiting while Spark starts. `check` may raise to end the waiting."""
        with self._changed:
            while self._life is None:
                if self._state is EngineState.BROKEN:
                    raise self._broken()
                check()
                self._changed.wait(_LOOK_SECONDS)
            return self._life

    def health(self) -> Health:
        with self._changed:
            since = self._waiting_since
            silent = time.monotonic() - since if since is not None else 0.0
            if self._state is EngineState.READY and silent > self._silence_seconds * _HUSHED:
                return Health(EngineState.SILENT, _silence(silent), self._restarts)
            return Health(self._state, self._reason, self._restarts)

    def loss(self, life: Life, error: BaseException) -> Loss | None:
        """How that life ended, if work failed because of that rather than because of the work."""
        # A context that stops breaks what runs on it in ways that say nothing of that: null pointers, closed files.
        if not self._is_over(life) and (jvm.is_lost_contact(error) or _has_stopped(life.session)):
            with self._changed:
                self._suspected = True
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._is_over(life), _DEATH_SECONDS)
        if not self._is_over(life):
            return None
        return self._losses.get(life.number, Loss("it was stopped"))

    def worked(self, life: Life) -> None:
        """Something was done in that life: whatever ends it now, its start was sound."""
        if life is self._life:
            self._sound = True

    def condemn(self, life: Life, reason: str) -> None:
        """Ends the life: something in it can't be stopped otherwise."""
        with self._changed:
            if not self._is_over(life):
                self._condemned = reason
                self._changed.notify_all()

    def _is_over(self, life: Life) -> bool:
        present = self._life
        return present is None or present.number != life.number

    def _broken(self) -> SnowmeltError:
        found = self._failure
        if found is None:
            return errors.engine_broken(self._reason or "unknown")
        return SnowmeltError(found.code, found.sqlstate, found.message, hint=found.hint, transient=found.transient)

    # -- the keeper -----------------------------------------------------------------------------------------------

    def _keep(self) -> None:
        while self._pause_before_start():
            try:
                session = self._start()
            except Exception as error:
                self._not_started(error)
                continue
            began = time.monotonic()
            scratch = _scratch(session)
            loss = self._watch(session)
            self._ended(loss, time.monotonic() - began)
            if loss is not None or not finishes(session.stop, _LEAVE_SECONDS):
                jvm.discard(scratch)

    def _pause_before_start(self) -> bool:
        """Waits as long as the number of deaths asks for; whether the application is still wanted then."""
        more = self._deaths - _QUICK_RESTARTS
        until = time.monotonic() + pause_after(more, 2.0, _LONGEST_PAUSE)
        with self._changed:
            while self._users and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)
            if not self._users:
                self._state, self._keeper = EngineState.IDLE, None
            return self._users > 0

    def _start(self) -> SparkSession:
        assert self._asked is not None
        if jvm.exit_code() is not None:
            # It ended after the last application did.
            jvm.discard()
        with jvm.killed_after(_START_SECONDS):
            session = start(*self._asked)
        # All that was imported stays: when Python looks for garbage it need not walk through it, which takes longer
        # than a small refresh. At the end it wants to see everything again.
        gc.freeze()
        atexit.unregister(gc.unfreeze)
        atexit.register(gc.unfreeze)
        with self._changed:
            self._number += 1
            self._life = Life(self._number, session)
            self._state, self._reason, self._failure = EngineState.READY, None, None
            self._sound, self._suspected, self._condemned = False, False, None
            self._changed.notify_all()
        return session

    def _not_started(self, error: Exception) -> None:
        jvm.discard()
        failure = error if isinstance(error, SnowmeltError) else None
        reason = failure.message if failure is not None else f"Spark could not be started ({error})"
        _log.error("engine_not_started", error=reason)
        with self._changed:
            self._deaths = max(self._deaths, _QUICK_RESTARTS) + 1
            self._state, self._reason, self._failure = EngineState.BROKEN, reason, failure
            self._changed.notify_all()

    def _ended(self, loss: Loss | None, lived: float) -> None:
        """The life is over: as wanted, or for a reason."""
        with self._changed:
            self._life = None
            self._state = EngineState.IDLE
            if loss is not None:
                self._losses = {**dict(list(self._losses.items())[-_KNOWN_LOSSES:]), self._number: loss}
                self._deaths = 1 if self._sound or lived > _SETTLED_SECONDS else self._deaths + 1
                self._restarts += 1
                self._reason, self._failure = loss.reason, None
                self._state = EngineState.BROKEN if self._deaths > _QUICK_RESTARTS else EngineState.STARTING
            self._changed.notify_all()
        if loss is not None:
            _log.error("engine_lost", reason=loss.reason, lived_seconds=round(lived, 1))

    def _is_asked(self) -> bool:
        return not self._users or self._suspected or self._condemned is not None

    def _watch(self, session: SparkSession) -> Loss | None:
        """Until the application is not wanted any more, which gives None, or is lost."""
        asker = Asker(pulse.Pulse(session).problem)
        try:
            return self._watched(asker)
        finally:
            asker.close()
            self._waiting_since = None

    def _watched(self, asker: Asker) -> Loss | None:
        every = min(_PING_SECONDS, self._silence_seconds * _HUSHED)
        ping: Future[str | None] | None = None
        asked = time.monotonic()
        while True:
            with self._changed:
                self._changed.wait_for(self._is_asked, _LOOK_SECONDS)
                wanted, suspected, self._suspected = self._users > 0, self._suspected, False
                condemned = self._condemned
            code = jvm.exit_code()
            if code is not None:
                return Loss(f"Spark's Java process ended, {_meaning(code)}")
            if not wanted:
                return None
            if condemned is not None:
                jvm.discard()
                return Loss(condemned, blamed=True)
            if ping is None and (suspected or time.monotonic() - asked > every):
                asked, ping = time.monotonic(), asker.ask()
            if ping is not None:
                problem, ping = self._answer(ping, time.monotonic() - asked)
                self._waiting_since = asked if ping is not None else None
                if problem is not None:
                    # Whoever waits for an answer of it gets an error now, the asking thread included.
                    jvm.discard()
                    return Loss(problem)

    def _answer(self, ping: Future[str | None], waited: float) -> tuple[str | None, Future[str | None] | None]:
        """What is wrong, if something is, and the question while it is open."""
        try:
            return ping.result(_LOOK_SECONDS), None
        except NotYetError:
            return (_silence(waited) if waited > self._silence_seconds else None), ping
        except Exception as error:
            return f"Spark's Java process can't be reached ({type(error).__name__})", None


def _silence(seconds: float) -> str:
    return f"Spark has not answered for {seconds:.0f} seconds"


def _has_stopped(session: SparkSession) -> bool:
    try:
        return jvm.is_stopped(session)
    except Exception as error:
        _log.debug("context_unreachable", error=type(error).__name__)
        return True


def _meaning(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _scratch(session: SparkSession) -> tuple[Path, ...]:
    try:
        return jvm.scratch_folders(session)
    except Exception as error:
        # It may be gone already; its folders are for the operating system to remove.
        _log.debug("scratch_folders_unknown", error=type(error).__name__)
        return ()


APPLICATION = Application()

"""Looks for new files of pipes with AUTO_INGEST, and loads them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import structlog

from snowmelt.core.errors import SnowmeltError
from snowmelt.features.pipes.definitions import PIPE, definition_of
from snowmelt.features.pipes.loading import load_text, waiting
from snowmelt.runtime.run import Run
from snowmelt.sql.tokens import SqlText
from snowmelt.state.model import CatalogObject

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

_USER = "SYSTEM"
_log = structlog.get_logger(__name__)
FileKey = tuple[str, int, float]


class Pipes:
    """One thread for all pipes of an account: a COPY of many files is one statement in any case."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._stopping = False
        self._tried: dict[str, set[FileKey]] = {}
        """By pipe, the files that it was given: one that failed is not tried again before it changes."""
        self._errors: dict[str, str] = {}

    def start(self) -> None:
        """From now on, until the account is closed, files are loaded as they come."""
        self._thread = threading.Thread(target=self._run, name="snowmelt-pipes", daemon=True)
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """A load that runs may finish within so many seconds; else it comes again."""
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout)

    def wake(self) -> None:
        """A pipe was created or altered."""
        self._wake.set()

    def error_of(self, pipe_id: str) -> str | None:
        """Why the last load failed, if it did."""
        with self._lock:
            return self._errors.get(pipe_id)

    def look(self) -> int:
        """Looks at each pipe once; how many loaded something."""
        with self._account.state.read() as state:
            pipes = list(state.catalog.objects([PIPE]))
        return sum(self._looked_at(item) for item in pipes if _is_running(item) and not self._stopping)

    def _run(self) -> None:
        while not self._stopping:
            try:
                self.look()
            except Exception as error:
                # The next look may find the state store again.
                _log.warning("pipes_not_looked_at", error=type(error).__name__)
            self._wake.wait(self._account.settings.pipe_seconds)
            self._wake.clear()

    def _looked_at(self, item: CatalogObject) -> bool:
        try:
            loaded, failure = self._load(item), None
        except SnowmeltError as error:
            loaded, failure = False, error.message
        except Exception as error:
            _log.warning("pipe_failed", pipe=str(item.name), error=type(error).__name__)
            loaded, failure = False, f"{type(error).__name__}: the log has the details"
        with self._lock:
            if failure is None:
                self._errors.pop(item.id, None)
            else:
                self._errors[item.id] = failure
        return loaded

    def _load(self, item: CatalogObject) -> bool:
        session = self._account.session(
            user=_USER, role=item.owner, database=item.name.database, schema=item.name.schema
        )
        try:
            run = Run(session, SqlText(definition_of(item).copy_text))
            tried = self._tried.setdefault(item.id, set())
            waiting_now = {(file.path, file.size, file.modified.timestamp()): file for file in waiting(run, item)}
            fresh = [file for key, file in waiting_now.items() if key not in tried]
            if not fresh:
                return False
            session.execute(load_text(run, item, fresh))
            tried.update(waiting_now)
        finally:
            session.close()
        return True


def _is_running(item: CatalogObject) -> bool:
    definition = definition_of(item)
    return definition.auto_ingest and not definition.paused

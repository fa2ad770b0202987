"""Playbooks and backfills that are run from the page: begun, watched, answered, resumed and undone.

Each works in a session beside its visitor's, so with the visitor's rights at every statement. What a run has done is in
its journal in the data directory: who began it goes on with it after a log-out, or after a restart of the server.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import structlog

from snowmelt.backfill.losses import check_may_begin
from snowmelt.backfill.model import BackfillRequest, StreamPolicy
from snowmelt.backfill.planning import BackfillPlanner
from snowmelt.backfill.rates import measured
from snowmelt.backfill.running import Backfill
from snowmelt.backfill.running import begin as begin_backfill
from snowmelt.backfill.standing import BackfillStanding, BackfillState, backfills_in, standing_of
from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.playbooks import library
from snowmelt.playbooks.journal import Event, created, opened
from snowmelt.playbooks.model import CheckpointDecision, Playbook, PlaybookStep, Probe
from snowmelt.playbooks.ports import CheckpointAnswer, CheckpointQuestion, PlaybookOutcome
from snowmelt.playbooks.progress import RunProgress, RunStatus, progress_of
from snowmelt.playbooks.running import PlaybookRunner
from snowmelt.playbooks.starting import begun, go_home, home_of, runs_in
from snowmelt.playbooks.values import resolved
from snowmelt.runtime.account import Account
from snowmelt.runtime.results import Result
from snowmelt.runtime.session import Session
from snowmelt.serve.console.values import columns_to_json, rows_to_json
from snowmelt.serve.protocol.bodies import Body, malformed, text

_log = structlog.get_logger(__name__)
_MOST_LINES = 400
_MOST_ROWS = 20
_AT_ONCE = 4
"""Runs that are worked on at the same time, by all visitors."""


@dataclass(slots=True)
class WatchedRun:
    """What the page shows of a run beside its journal: what was said, and the question that it waits with."""

    lines: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=_MOST_LINES))
    question: dict[str, Any] | None = None
    working: bool = False
    problem: str = ""


class _Operator:
    """Tells the page what happens. An answer counts once, and for the question that it was given to."""

    def __init__(self, watched: WatchedRun, changed: Callable[[], None], answer: CheckpointAnswer | None) -> None:
        self._watched, self._changed, self._answer = watched, changed, answer

    def _line(self, kind: str, content: str, **more: Any) -> None:
        self._watched.lines.append({"kind": kind, "text": content, **more})
        self._changed()

    def say(self, text: str) -> None:
        self._line("say", text)

    def probe(self, probe: Probe, sql: str, result: Result, problems: list[str]) -> None:
        self._line("probe", f"{probe.title}: {'; '.join(problems) or 'as expected'}")

    def step(self, step: PlaybookStep, number: int, count: int, prose: str) -> None:
        self._line("step", f"Step {number} of {count}: {step.title}")

    def sql(self, text: str) -> None:
        self._line("sql", text)

    def result(self, result: Result) -> None:
        """What a checkpoint presents is decided upon: its rows are shown, and how many more there are."""
        shown = rows_to_json(result, 0, _MOST_ROWS)
        more = f", the first {len(shown)}" if result.row_count > len(shown) else ""
        columns = [column["name"] for column in columns_to_json(result)]
        self._line("rows", f"{result.row_count:,} rows{more}", columns=columns, rows=shown)

    def trouble(self, error: str, recovery: str) -> None:
        self._line("trouble", f"{error} ({recovery})")

    def decide(self, question: CheckpointQuestion) -> CheckpointAnswer | None:
        answer, self._answer = self._answer, None
        self._watched.question = None if answer is not None else {
            "step": question.step.id, "title": question.step.title, "severity": str(question.checkpoint.severity),
            "present": question.present, "options": [str(option) for option in question.checkpoint.options],
        }  # fmt: skip
        return answer


class Operations:
    def __init__(self, account: Account, tell: Callable[[str], None]) -> None:
        self._account = account
        self._folder: Path = account.data_dir / "runs"
        self._watched: dict[str, WatchedRun] = {}
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="snowmelt-run")
        self._changed: Callable[[], None] = lambda: tell("runs")

    def stop(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    # -- playbooks ------------------------------------------------------------------------------------------------

    def playbooks(self, session: Session) -> dict[str, Any]:
        shipped = [(name, library.load(name)) for name in library.shipped()]
        return {
            "shipped": [{"name": name, "objective": found.front.objective} for name, found in shipped],
            "runs": [self._run_to_json(item) for item in reversed(self._runs(session))],
        }

    def playbook(self, name: str) -> dict[str, Any]:
        return _playbook_to_json(_shipped(name))

    def begin(self, session: Session, body: Body) -> dict[str, Any]:
        """Begins a run of a shipped playbook, or of the text of one."""
        name, content = text(body, "playbook"), text(body, "text")
        if content is None and name is None:
            raise malformed("'playbook' is the name of a shipped playbook, or 'text' is one")
        playbook = library.parsed(content, "yours") if content is not None else _shipped(name or "")
        given = _inputs(body)
        home = home_of(session.execute)
        values = resolved(playbook, given, home, lambda *_: None)
        with begun(self._folder, playbook, values, home, _account_of(session)) as journal:
            run = progress_of(journal.events).run
        self._work(run, session, None, "go on")
        return self.run(session, run)

    def run(self, session: Session, run: str) -> dict[str, Any]:
        found = next((item for item in self._runs(session) if item.run == run), None)
        if found is None:
            raise errors.not_found("Run", run)
        return self._run_to_json(found, details=True)

    def go_on(self, session: Session, run: str, body: Body) -> dict[str, Any]:
        """Resumes a run, answers the question that it waits with, or undoes it."""
        self.run(session, run)
        what, decision = text(body, "action") or "resume", text(body, "decision")
        if what not in ("resume", "abort"):
            raise malformed("'action' is resume or abort")
        answer = None
        if decision is not None:
            inputs = {key: str(value) for key, value in _inputs(body).items()}
            try:
                answer = CheckpointAnswer(CheckpointDecision(decision), inputs, f"{session.user} in the console")
            except ValueError:
                raise malformed(f"'{decision}' is no decision") from None
        self._work(run, session, answer, what)
        return self.run(session, run)

    def _work(self, run: str, session: Session, answer: CheckpointAnswer | None, what: str) -> None:
        def work(twin: Session, watched: WatchedRun) -> None:
            with opened(self._folder, run) as journal:
                progress = progress_of(journal.events)
                go_home(twin.execute, progress.home)
                playbook = library.parsed(progress.text, progress.playbook)
                operator = _Operator(watched, self._changed, answer)
                runner = PlaybookRunner(twin.execute, playbook, journal, operator, time.sleep)
                outcome = runner.abort(session.user) if what == "abort" else runner.go_on()
                if outcome is not PlaybookOutcome.WAITING:
                    watched.question = None

        self._start(run, session, work)

    def _runs(self, session: Session) -> list[RunProgress]:
        """The runs of the session's user. Runs of other users are not shown."""
        return [item for item in runs_in(self._folder) if item.account == _account_of(session)]

    def _run_to_json(self, item: RunProgress, *, details: bool = False) -> dict[str, Any]:
        watched = self._watch(item.run)
        found: dict[str, Any] = {
            "run": item.run, "playbook": item.playbook, "status": _status(item, watched), "began_at": item.began_at,
            "last_at": item.last_at, "problem": watched.problem or item.problem, "working": watched.working,
        }  # fmt: skip
        if not details:
            return found
        playbook = library.parsed(item.text, item.playbook)
        return {
            **found, "inputs": item.inputs, "question": None if watched.working else watched.question,
            "lines": list(watched.lines), "title": playbook.title, "objective": playbook.front.objective,
            "steps": [_step_to_json(step, item) for step in playbook.steps],
        }  # fmt: skip

    # -- backfills ------------------------------------------------------------------------------------------------

    def backfills(self, session: Session) -> dict[str, Any]:
        return {"runs": [self._backfill_to_json(item) for item in reversed(self._backfills(session))]}

    def plan_backfill(self, session: Session, body: Body) -> dict[str, Any]:
        """What a backfill would replace, and what that takes. Nothing is changed."""
        planner = BackfillPlanner(session.execute, [standing_of(events).plan.saved for events in self._journals()])
        plan, downstream = planner.plan(_request(body))
        price = self._account.settings.credit_price
        estimate = planner.estimate(plan, downstream, measured(self._journals(), str(plan.name)), price)
        return {"table": str(plan.name), "saved": plan.saved, "refreshed": list(plan.leaves), **asdict(estimate)}

    def begin_backfill(self, session: Session, body: Body) -> dict[str, Any]:
        planner = BackfillPlanner(session.execute, [standing_of(events).plan.saved for events in self._journals()])
        plan, _ = planner.plan(_request(body))
        check_may_begin(session.execute, plan, [standing_of(events) for events in self._journals()])
        with created(self._folder, plan.run) as journal:
            begin_backfill(journal, plan, _account_of(session))
        return self.go_on_backfill(session, plan.run, {"action": "resume"})

    def go_on_backfill(self, session: Session, run: str, body: Body) -> dict[str, Any]:
        """Goes on with a backfill, brings the old rows back, or lets go of them."""
        self._backfill(session, run)
        action = text(body, "action") or "resume"
        if action not in ("resume", "undo", "accept"):
            raise malformed("'action' is resume, undo or accept")

        def work(twin: Session, watched: WatchedRun) -> None:
            with opened(self._folder, run) as journal:

                def announce(line: str) -> None:
                    watched.lines.append({"kind": "say", "text": line})
                    self._changed()

                others = [standing_of(events) for events in self._journals()]
                backfill = Backfill(twin.execute, journal, others, announce, time.monotonic)
                {"resume": backfill.go_on, "undo": backfill.undo, "accept": backfill.accept}[action]()

        self._start(run, session, work)
        return self._backfill_to_json(self._backfill(session, run))

    def _journals(self) -> list[list[Event]]:
        return backfills_in(self._folder)

    def _backfills(self, session: Session) -> list[BackfillStanding]:
        found = [standing_of(events) for events in self._journals()]
        return [item for item in found if item.account == _account_of(session)]

    def _backfill(self, session: Session, run: str) -> BackfillStanding:
        found = next((item for item in self._backfills(session) if item.plan.run == run), None)
        if found is None:
            raise errors.not_found("Backfill", run)
        return found

    def _backfill_to_json(self, item: BackfillStanding) -> dict[str, Any]:
        watched = self._watch(item.plan.run)
        stopped = item.state in (BackfillState.RUNNING, BackfillState.UNDOING) and not watched.working
        undoing = item.state is BackfillState.UNDOING
        return {
            "run": item.plan.run, "table": str(item.plan.name), "state": "stopped" if stopped else str(item.state),
            "working": watched.working, "problem": watched.problem, "chunks": len(item.plan.chunks),
            "done": len(item.restored if undoing else item.done), "saved": item.plan.saved, "undoing": undoing,
            "lines": list(watched.lines)[-20:],
        }  # fmt: skip

    # -- work -----------------------------------------------------------------------------------------------------

    def _watch(self, run: str) -> WatchedRun:
        with self._lock:
            return self._watched.setdefault(run, WatchedRun())

    def _start(self, run: str, session: Session, work: Callable[[Session, WatchedRun], None]) -> None:
        watched = self._watch(run)
        with self._lock:
            if watched.working:
                raise errors.configuration(f"'{run}' is being worked on.", hint="Wait until it stops or asks.")
            watched.working, watched.problem = True, ""
        twin = session.beside()

        def carry_out() -> None:
            try:
                work(twin, watched)
            except SnowmeltError as error:
                watched.problem = str(error)
            except Exception:
                watched.problem = "It failed. The server's log has the details."
                _log.exception("console.run_failed", run=run)
            finally:
                watched.working = False
                twin.leave()
                self._changed()

        self._threads.submit(carry_out)


def _account_of(session: Session) -> str:
    """The account of a run, as its journal calls it."""
    return f"console {session.user}"


def _inputs(body: Body) -> dict[str, Any]:
    given = body.get("inputs") or {}
    if not isinstance(given, dict):
        raise malformed("'inputs' are names with values")
    return given


def _shipped(name: str) -> Playbook:
    """Never a file of the server's, whatever the name looks like."""
    if name not in library.shipped():
        raise errors.not_found("Playbook", name)
    return library.load(name)


def _status(item: RunProgress, watched: WatchedRun) -> str:
    if watched.working:
        return "running"
    return "stopped" if item.status is RunStatus.RUNNING else str(item.status)


def _playbook_to_json(playbook: Playbook) -> dict[str, Any]:
    return {
        "name": playbook.name, "title": playbook.title, "objective": playbook.front.objective,
        "prerequisites": list(playbook.front.prerequisites), "text": playbook.text,
        "inputs": [
            {"name": name, "type": str(spec.type), "description": spec.description, "default": spec.default,
             "choices": list(spec.choices), "optional": spec.optional}
            for name, spec in playbook.front.inputs.items()
        ],
        "steps": [_step_to_json(step, None) for step in playbook.steps],
    }  # fmt: skip


def _step_to_json(step: PlaybookStep, run: RunProgress | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": step.id, "title": step.title, "sql": "\n\n".join(sql.text for sql in step.sql),
        "checkpoint": str(step.checkpoint.severity) if step.checkpoint is not None else None,
    }  # fmt: skip
    if run is not None:
        state = run.step(step.id)
        words = {"done": state.done, "skipped": state.skipped, "undoing": state.undoing, "begun": state.began}
        found["state"] = next((word for word, holds in words.items() if holds), "undone" if state.attempt > 1 else "")
        found["created"] = [f"{kind.lower()} {name}" for kind, name in state.created]
    return found


def _request(body: Body) -> BackfillRequest:
    table, column = text(body, "table"), text(body, "column")
    if not table or not column:
        raise malformed("a backfill needs 'table' and 'column'")
    keys = tuple(key.strip() for key in (text(body, "keys") or "").split(",") if key.strip())
    return BackfillRequest(
        table, text(body, "source") or None, text(body, "query") or None, None, column, text(body, "start") or None,
        text(body, "end") or None, keys, text(body, "chunk") or None,
        streams=StreamPolicy.FOLLOW if body.get("follow_streams") is True else StreamPolicy.REFUSE,
    )  # fmt: skip

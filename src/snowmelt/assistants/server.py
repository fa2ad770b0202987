"""The tools, as a server of the Model Context Protocol. It decides nothing: it calls what the commands call."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, ValidationError

from snowmelt.assistants.answers import changes_something, conversation_answer, rows_answer
from snowmelt.backfill.model import BackfillRequest
from snowmelt.backfill.planning import BackfillPlanner
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import literal
from snowmelt.core.version import VERSION
from snowmelt.design.answering import with_answers
from snowmelt.design.antipatterns.linting import lint_paths
from snowmelt.design.building.project import project_files
from snowmelt.design.building.writing import write_project
from snowmelt.design.conversation.filling import begin
from snowmelt.design.conversation.state import Conversation, NotUnderstoodError
from snowmelt.design.conversation.talking import reply
from snowmelt.design.deciding import decide
from snowmelt.design.model import Design
from snowmelt.design.requirements.missing import questions
from snowmelt.design.requirements.model import Requirements
from snowmelt.design.requirements.reading import parse
from snowmelt.playbooks import library
from snowmelt.runtime.results import Executes

INSTRUCTIONS = (
    "Tools of Snowmelt. To design a pipeline call design_begin with the user's own words, put each question to the "
    "user, and give the answers to design_answer; never answer for the user, and decide nothing yourself. Tools that "
    "change something ask first."
)
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)


_P = ParamSpec("_P")
_R = TypeVar("_R")


def translate_errors(work: Callable[_P, _R]) -> Callable[_P, _R]:
    """What a person would be told, the assistant is told too; the SDK hides other errors."""

    @wraps(work)
    def inside(*values: _P.args, **named: _P.kwargs) -> _R:
        try:
            return work(*values, **named)
        except (NotUnderstoodError, SnowmeltError, ValidationError) as error:
            raise ToolError(str(error)) from None

    return inside


class Tools:
    """The tools of one server. Each call works in a thread: one of `threads`, where there are others to share with."""

    def __init__(self, server: MCPServer[Any], threads: CapacityLimiter | None) -> None:
        self._server = server
        self._threads = threads

    def reads(self, work: Callable[_P, _R]) -> Callable[_P, Awaitable[_R]]:
        return self._add(work, _READS)

    def writes(self, work: Callable[_P, _R]) -> Callable[_P, Awaitable[_R]]:
        return self._add(work, _WRITES)

    def _add(self, work: Callable[_P, _R], annotations: ToolAnnotations) -> Callable[_P, Awaitable[_R]]:
        @wraps(work)
        async def inside(*values: _P.args, **named: _P.kwargs) -> _R:
            call = partial(translate_errors(work), *values, **named)
            return await anyio.to_thread.run_sync(call, limiter=self._threads)

        self._server.add_tool(inside, annotations=annotations)
        return inside


class Confirmed(BaseModel):
    """The user's answer to a question before something is changed."""

    yes: bool


def server_of(
    session: Callable[[], Executes], *, files: bool = True, threads: CapacityLimiter | None = None
) -> MCPServer[Any]:
    """`session` opens one when it is needed first, with the rights of whoever the tools work for.

    `files`: also tools that read and write files where this runs, with this process's rights. Others touch none.
    """
    server = MCPServer[Any](name="snowmelt", version=VERSION, instructions=INSTRUCTIONS, log_level="ERROR")
    tools = Tools(server, threads)
    _add_designing(tools)
    if files:
        _add_files(tools)
    _add_reading(tools, session)
    _add_changing(tools, session)
    return server


def _can_ask(context: Context[Any]) -> bool:
    """Whether the client puts questions to its user."""
    capabilities = context.client_capabilities
    return capabilities is not None and capabilities.elicitation is not None


def _code(what: str) -> str:
    """A code for exactly this change; that of another change differs."""
    return hashlib.sha256(what.encode()).hexdigest()[:8]


def _permission(context: Context[Any], what: str, confirm: str) -> Confirmed | Elicit[Confirmed]:
    """A client that can ask its user is made to. One that can't has to send a code, which the first call gives it."""
    if _can_ask(context):
        return Elicit(f"{what} Shall I?", Confirmed)
    return Confirmed(yes=confirm == _code(what))


def _refused(context: Context[Any], what: str) -> str:
    if _can_ask(context):
        return "Not done: the answer was no."
    return f"Not done yet. {what} Ask the user; if the answer is yes, call again with confirm={_code(what)}."


def _built(design: str, folder: str) -> tuple[dict[str, str], str]:
    files = project_files(parse(design, Design, "design"))
    return files, f"{len(files)} files would be written into {folder}."


def _run(statement: str) -> str:
    return f"This statement may change something: {statement}"


@translate_errors
def build_allowed(
    design: str, folder: str, context: Context[Any], confirm: str = ""
) -> Confirmed | Elicit[Confirmed]:  # fmt: skip
    return _permission(context, _built(design, folder)[1], confirm)


@translate_errors
def sql_allowed(statement: str, context: Context[Any], confirm: str = "") -> Confirmed | Elicit[Confirmed]:
    if not changes_something(statement):
        return Confirmed(yes=True)
    return _permission(context, _run(statement), confirm)


# -- design -----------------------------------------------------------------------------------------------------------


def _add_designing(tools: Tools) -> None:
    @tools.reads
    def design_begin(description: str) -> dict[str, Any]:
        """Begin a design with the user's words: what was understood, what was assumed, and the first question."""
        return conversation_answer(begin(description))

    @tools.reads
    def design_answer(state: dict[str, Any], answer: str) -> dict[str, Any]:
        """Answer the question in the user's words. Gives the next one, or a summary; `back` and `change X` work."""
        return conversation_answer(reply(Conversation.model_validate(state), answer))

    @tools.reads
    def design_check(requirements: str) -> dict[str, Any]:
        """Decide about a requirements file (YAML): decisions with rules and reasons, what is open, asked or refused."""
        given = with_answers(parse(requirements, Requirements, "requirements"))
        verdict = decide(given)
        rows = {"decisions": verdict.decisions, "asks": verdict.asks, "refusals": verdict.refusals}
        found: dict[str, Any] = {
            name: [{"rule": item.rule.id, "outcome": item.outcome, "reason": item.rule.reason} for item in items]
            for name, items in rows.items()
        }
        return {**found, "missing": [item.text for item in questions(given) if item.essential]}


def _add_files(tools: Tools) -> None:
    @tools.reads
    def lint(paths: list[str]) -> list[dict[str, Any]]:
        """Look for anti-patterns in SQL files and folders."""
        return [
            {"id": item.pattern.id, "level": str(item.pattern.level), "object": item.object, "message": item.message,
             "remedy": item.pattern.remedy}
            for item in lint_paths([Path(path) for path in paths])
        ]  # fmt: skip

    @tools.writes
    def build_project(
        design: str, folder: str, context: Context[Any], permission: Annotated[Confirmed, Resolve(build_allowed)],
        confirm: str = "",
    ) -> str:  # fmt: skip
        """Write the project of a design (YAML, from design_answer) into a folder. Changes files; asks first."""
        files, what = _built(design, folder)
        if not permission.yes:
            return _refused(context, what)
        done = write_project(Path(folder), files)
        return "\n".join([f"{folder}: {len(files)} files", *done.lines()])


# -- reading ----------------------------------------------------------------------------------------------------------


def _add_reading(tools: Tools, session: Callable[[], Executes]) -> None:
    @tools.reads
    def playbooks() -> list[dict[str, str]]:
        """The runbooks that are shipped: name and objective."""
        return [{"name": name, "objective": library.load(name).front.objective} for name in library.shipped()]

    @tools.reads
    def playbook(name: str) -> str:
        """One runbook as a whole: probes, steps with SQL, checkpoints, compensations, errors."""
        return library.shipped_text(name)

    @tools.reads
    def backfill_plan(
        table: str, column: str, source: str = "", query: str = "", start: str = "", end: str = ""
    ) -> dict[str, Any]:  # fmt: skip
        """What a backfill would replace, in which chunks, how long it would take and what follows. Changes nothing."""
        if query and changes_something(query):
            raise ToolError("The query of a backfill must be a SELECT: this one may change something.")
        request = BackfillRequest(table, source or None, query or None, None, column, start or None, end or None)
        planner = BackfillPlanner(session().execute, [])
        plan, downstream = planner.plan(request)
        return {
            "table": str(plan.name), "source": plan.source, "refreshed_after_it": list(plan.leaves),
            "follow": [*downstream.dynamic_tables, *downstream.views], "streams": list(downstream.streams),
        }  # fmt: skip

    @tools.reads
    def lineage(name: str, downstream: bool = False) -> dict[str, Any]:
        """Where a table or table.column comes from, or what would be hit if it changed."""
        direction = "DOWNSTREAM" if downstream else "UPSTREAM"
        found = session().execute(f"SELECT SYSTEM$LINEAGE({literal(name)}, {literal(direction)})").rows()[0][0]
        return dict(json.loads(found))

    @tools.reads
    def check(table: str) -> dict[str, Any]:
        """Recompute a dynamic table at its data timestamp and compare."""
        return dict(json.loads(session().execute(f"SELECT SYSTEM$CHECK_DYNAMIC_TABLE({literal(table)})").rows()[0][0]))

    @tools.reads
    def history(table: str = "") -> dict[str, Any]:
        """The refreshes of dynamic tables, newest first: when, what happened, how many rows."""
        where = f"(NAME => {literal(table)})" if table else "()"
        refreshes = f"TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY{where})"
        return rows_answer(session().execute(f"SELECT * FROM {refreshes} ORDER BY REFRESH_START_TIME DESC"))


# -- changing ---------------------------------------------------------------------------------------------------------


def _add_changing(tools: Tools, session: Callable[[], Executes]) -> None:
    @tools.writes
    def sql(
        statement: str, context: Context[Any], permission: Annotated[Confirmed, Resolve(sql_allowed)],
        confirm: str = "",
    ) -> dict[str, Any]:  # fmt: skip
        """Run one SQL statement. Queries, SHOW, DESCRIBE and EXPLAIN run at once; what may change something asks."""
        if not permission.yes:
            return {"not_done": _refused(context, _run(statement))}
        return rows_answer(session().execute(statement))

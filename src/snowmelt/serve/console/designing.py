"""The conversation of `snowmelt design` for the page: a state and an answer in, what comes next out.

It opens nothing and keeps nothing: the page holds the state, as an assistant does, and the project goes to whoever
asked for it. Nothing is written where the server runs.
"""

from __future__ import annotations

import io
import zipfile
from typing import Any

from pydantic import ValidationError

from snowmelt.assistants.answers import conversation_answer
from snowmelt.core import errors
from snowmelt.design.antipatterns.on_designs import design_findings
from snowmelt.design.building.project import project_files
from snowmelt.design.conversation.filling import begin
from snowmelt.design.conversation.state import Conversation, NotUnderstoodError, check_length, tables_in
from snowmelt.design.conversation.summary import summary
from snowmelt.design.conversation.talking import reply
from snowmelt.design.deciding import Decision, decide
from snowmelt.design.model import Design
from snowmelt.design.output.diagram import picture
from snowmelt.design.output.writing import written
from snowmelt.serve.protocol.bodies import Body, malformed, text

_MOST_TABLES, _MOST_COLUMNS = 200, 5_000
"""The server's processor is everybody's: a project of 200 tables takes 20 s of it."""
_WRITTEN_AT = (1980, 1, 1, 0, 0, 0)
"""The same design gives the same archive."""


def design_step(body: Body) -> dict[str, Any]:
    """What was understood, what was decided and why, and the next question; or the summary and what is drawn of it."""
    description, answer = text(body, "description"), text(body, "answer")
    try:
        if description is not None:
            return _shown(begin(description))
        state = _state(body)
        return _shown(state if answer is None else reply(state, answer))
    except NotUnderstoodError as error:
        raise errors.configuration(str(error)) from None


def design_archive(body: Body) -> tuple[str, bytes]:
    """A name, and the project with its design as a ZIP archive."""
    state = _state(body)
    made = summary(state)
    if made.design is None:
        raise errors.configuration("There is no design yet.", hint="; ".join(made.problems) or None)
    name = made.design.name.lower()
    files = {f"design/{path}": content for path, content in _design_files(state, made.design).items()}
    files |= project_files(made.design)
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{name}/{path}", _WRITTEN_AT)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return name, sink.getvalue()


def _design_files(state: Conversation, design: Design) -> dict[str, str]:
    return written(state.requirements, design, design_findings(design))


def _state(body: Body) -> Conversation:
    try:
        state = Conversation.model_validate(body.get("state"))
        check_length(state.description)
    except ValidationError as error:
        raise malformed(f"'state' is no conversation: {error.errors()[0]['msg']}") from None
    except NotUnderstoodError as error:
        raise errors.configuration(str(error)) from None
    tables = [table for _, table in tables_in(state)]
    if len(tables) > _MOST_TABLES or sum(len(table.columns) for table in tables) > _MOST_COLUMNS:
        raise errors.configuration(
            f"The page designs at most {_MOST_TABLES} tables with {_MOST_COLUMNS:,} columns.",
            hint="Write requirements.yaml and use `snowmelt design` on your own machine, which has no limit.",
        )
    return state


def _shown(state: Conversation) -> dict[str, Any]:
    found = conversation_answer(state)
    found["exchanges"] = [item.model_dump() for item in state.exchanges]
    found["decisions"] = [_decision(item) for item in _decisions(state)]
    made = summary(state).design if "design" in found else None
    if made is not None:
        drawn = picture(made)
        found["name"] = made.name
        found["findings"] = [
            {"id": item.pattern.id, "level": str(item.pattern.level), "message": item.message, "object": item.object}
            for item in design_findings(made)
        ]  # fmt: skip
        found["drawn"] = {
            "nodes": [{"id": key, "title": box.title, "kind": box.domain} for key, box in drawn.boxes.items()],
            "edges": [{"source": one.source, "target": one.target, "label": one.label} for one in drawn.arrows],
        }
    return found


def _decisions(state: Conversation) -> tuple[Decision, ...]:
    """Empty before the sources and the freshness are known: the rules would have nothing to judge."""
    given = state.requirements
    return decide(given).decisions if given.sources and given.latency is not None else ()


def _decision(item: Decision) -> dict[str, Any]:
    return {
        "topic": item.rule.topic, "outcome": item.outcome, "reason": item.rule.reason, "rule": item.rule.id,
        "facts": [fact.shown() for fact in item.facts],
    }  # fmt: skip

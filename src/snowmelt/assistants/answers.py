"""What tools give back: plain values that go through JSON."""

from __future__ import annotations

import re
from typing import Any

from snowmelt.core.errors import SnowmeltError
from snowmelt.design.conversation.filling import shown_findings
from snowmelt.design.conversation.state import Conversation
from snowmelt.design.conversation.summary import QUESTION, summary
from snowmelt.design.conversation.talking import next_question
from snowmelt.design.requirements.reading import to_yaml
from snowmelt.runtime.pipes import chained
from snowmelt.runtime.results import Result
from snowmelt.sql.statements.classify import classify
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.tokens import SqlText

ROWS = 200
_READING = frozenset({"SELECT", "SHOW", "DESCRIBE", "EXPLAIN", "LIST_FILES"})
_EFFECTS = re.compile(r"system\$|nextval|\bcall\b", re.IGNORECASE)


def conversation_answer(state: Conversation) -> dict[str, Any]:
    """The state, and what comes next: a question, or the summary with the one that is last."""
    found: dict[str, Any] = {
        "state": state.model_dump(mode="json", exclude_defaults=True),
        "understood": [{"field": name, "value": value, "words": words} for name, value, words in shown_findings(state)],
        "assumed": [item.model_dump() for item in state.assumed],
        "requirements": to_yaml(state.requirements),
    }
    asked = next_question(state)
    if asked is not None:
        found["question"] = {
            "topic": asked.topic, "text": asked.text, "choices": list(asked.choices), "proposal": asked.proposal,
            "why": asked.why,
        }  # fmt: skip
        return found
    end = summary(state)
    found["summary"] = list(end.lines or end.problems)
    if end.design is not None:
        found["question"] = {"topic": "build", "text": QUESTION, "choices": ["yes", "no"], "proposal": None, "why": ""}
        found["design"] = to_yaml(end.design)
    return found


def rows_answer(result: Result) -> dict[str, Any]:
    """At most ROWS rows; `more` says how many were left out."""
    rows = result.rows()
    return {
        "columns": [column.name for column in result.columns],
        "rows": [[_plain(value) for value in row] for row in rows[:ROWS]],
        "more": max(0, len(rows) - ROWS),
    }


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def changes_something(statement: str) -> bool:
    """Whether the statement may change something. Queries and SHOW do not, unless they call SYSTEM$ functions."""
    try:
        kinds = [classify(parse_statement(one)) for one in chained(SqlText(statement))]
    except SnowmeltError:
        return True
    return not all(kind.query_type in _READING for kind in kinds) or _EFFECTS.search(statement) is not None

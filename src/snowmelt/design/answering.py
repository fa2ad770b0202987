"""Answers to what the rules ask: some are approvals, others are facts, which no approval may swallow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from snowmelt.core import errors
from snowmelt.design.requirements.model import Requirements
from snowmelt.design.rules.table import RuleEffect, rules
from snowmelt.govern.pii.classes import by_name

_PII_COLUMNS = "sources.tables.columns.pii"
_PERSONAL = ("ASK-PII", "ASK-PII-COLUMNS")
_DOUBT = "ASK-PII-DOUBT"
_YES = re.compile(r"\s*(yes|it is|they are|mark)\b", re.IGNORECASE)
_FIELDS = {"retention": ("retention",), "replay.window": ("replay", "window"), "monitoring": ("monitoring", "channel")}


def with_answers(given: Requirements) -> Requirements:
    """What was answered to questions about personal data, as marks on the columns that it names.

    Raises for an approval of what asks for columns and that names none.
    """
    approvals = dict(given.approvals)
    for rule in _PERSONAL:
        if rule in approvals and (named := _named_columns(given, approvals[rule])):
            given = _marked(given, named.__contains__)
            approvals.pop("ASK-PII-COLUMNS", None)
    if "ASK-PII-COLUMNS" in approvals:
        raise errors.configuration(
            f"ASK-PII-COLUMNS asks which columns hold personal data, and '{approvals['ASK-PII-COLUMNS']}' names none.",
            hint=f"Name them: {', '.join(_columns(given)) or 'no columns are described yet; --look finds them'}.",
        )
    if _YES.match(approvals.get(_DOUBT, "")):
        given = _marked(given, lambda column: by_name(column) is not None)
        del approvals[_DOUBT]
    return given.model_copy(update={"approvals": approvals})


def check_approvals(given: Requirements) -> None:
    """Raises for an approval of what no rule asks, or asks for a fact; and for one without a person and a reason."""
    asking = {rule.id: rule for rule in rules() if rule.effect is RuleEffect.ASK}
    approvable = [name for name, rule in asking.items() if rule.field is None]
    for name, text in given.approvals.items():
        rule = asking.get(name)
        if rule is None:
            raise errors.configuration(
                f"There is nothing called {name} to approve.",
                hint=f"Approve one of {', '.join(approvable)}. To choose a mode, set `mode`.",
            )
        if rule.field is not None:
            raise errors.configuration(
                f"{name} needs an answer, not an approval: write it in `{rule.field}`.", hint=rule.reason
            )
        if len(text.split()) < 2:
            raise errors.configuration(f"Approvals look like RULE=person, reason. Got: '{name}={text}'.")


def answer_field(given: Requirements, field: str, answer: str) -> Requirements:
    """The requirements with the answer where it belongs. Raises ValueError for one that does not fit."""
    if field == _PII_COLUMNS:
        named = _named_columns(given, answer)
        if not named:
            raise ValueError(f"no column is called {answer}: there are {', '.join(_columns(given)) or 'none yet'}")
        return _marked(given, named.__contains__)
    data: dict[str, Any] = given.model_dump(mode="json", exclude_none=True)
    if field == "sources.tables.key":
        _give_key(data, [word.strip() for word in answer.split(",") if word.strip()])
    else:
        *outer, last = _FIELDS[field]
        inside = data.setdefault(outer[0], {}) if outer else data
        inside[last] = answer.strip()
    return Requirements.model_validate(data)


def _give_key(data: dict[str, Any], key: list[str]) -> None:
    """To the tables that have none, and that have these columns as far as is known."""
    for source in data["sources"]:
        for table in source["tables"]:
            known = [column["name"] for column in table.get("columns", ())]
            if not table.get("key") and (not known or set(key) <= set(known)):
                table["key"] = key


def _columns(given: Requirements) -> list[str]:
    tables = [table for source in given.sources for table in source.tables]
    return list(dict.fromkeys(column.name for table in tables for column in table.columns))


def _named_columns(given: Requirements, text: str) -> set[str]:
    words = {word.lower() for word in re.findall(r"\w+", text)}
    return {name for name in _columns(given) if name.lower() in words}


def _marked(given: Requirements, chosen: Callable[[str], bool]) -> Requirements:
    data: dict[str, Any] = given.model_dump(mode="json", exclude_none=True)
    for column in _described(data):
        column["pii"] = column.get("pii", False) or chosen(column["name"])
    data["pii"] = {**data.get("pii", {}), "present": True}
    return Requirements.model_validate(data)


def _described(data: dict[str, Any]) -> Iterable[dict[str, Any]]:
    for source in data.get("sources", ()):
        for table in source.get("tables", ()):
            yield from table.get("columns", ())

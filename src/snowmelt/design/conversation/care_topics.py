"""Questions about what data needs care: personal columns, and what must hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from snowmelt.design.conversation.answers import (
    choice_of,
    column_named,
    names_of_answer,
    yes_or_no,
)
from snowmelt.design.conversation.filling import clean_columns
from snowmelt.design.conversation.state import Asked, Conversation, NotUnderstoodError, tables_in
from snowmelt.design.conversation.topic import Topic
from snowmelt.design.conversation.understanding import understand
from snowmelt.govern.pii.classes import by_name

# -- personal data ----------------------------------------------------------------------------------------------------


def _personal_columns(state: Conversation) -> list[str]:
    return list(dict.fromkeys(column.name for _, table in tables_in(state) for column in table.columns
                              if column.pii or by_name(column.name) is not None))  # fmt: skip


def _pii_open(state: Conversation) -> Iterator[str]:
    given = state.requirements
    marked = any(column.pii for _, table in tables_in(state) for column in table.columns)
    known = any(table.columns for _, table in tables_in(state))
    if given.pii is None or (given.pii.present and not marked and known):
        yield ""


def _ask_pii(state: Conversation, _: str) -> Asked:
    found = _personal_columns(state)
    proposal = ", ".join(found) if found else "no"
    text = "Which columns hold personal data? Name them, or say no."
    return Asked("personal data", text, (), proposal, "What nobody names arrives as it is.")


def _take_pii(state: Conversation, _: str, answer: str) -> dict[str, Any]:
    data = state.data()
    if yes_or_no(answer) is False:
        data["pii"] = {"present": False}
        for source in data.get("sources", ()):
            for table in source["tables"]:
                for column in table.get("columns", ()):
                    column.pop("pii", None)
        return data
    known = list(dict.fromkeys(column.name for _, table in tables_in(state) for column in table.columns))
    said = [word for word in names_of_answer(re.sub(r"(?i)^yes\b[,:]?", "", answer)) if word]
    if not said and known:
        said = _personal_columns(state)
    meant = {column_named(word, known) or "" for word in said}
    if known and (not meant or "" in meant):
        unknown = ", ".join(word for word in said if column_named(word, known) is None) or answer
        raise NotUnderstoodError(f"No column is called {unknown}: there are {', '.join(known)}. Or say no.")
    for source in data.get("sources", ()):
        for table in source["tables"]:
            for column in table.get("columns", ()):
                column["pii"] = column["name"] in meant
    data["pii"] = {**(data.get("pii") or {}), "present": True}
    return data


_STRATEGIES = ("hash", "mask", "tokenise", "drop")


def _strategy_open(state: Conversation) -> Iterator[str]:
    given = state.requirements
    if given.personal and given.pii is not None and given.pii.strategy is None:
        yield ""


def _ask_strategy(state: Conversation, _: str) -> Asked:
    proposal = str(state.said("pii.strategy") or "hash")
    text = (
        "What happens to personal data? hash keeps it joinable here, tokenise in the whole account, "
        "mask hides it, drop never lands it."
    )
    return Asked("personal data is", text, _STRATEGIES, proposal, "It must not arrive as it is.")


def _take_strategy(state: Conversation, _: str, answer: str) -> dict[str, Any]:
    data = state.data()
    found = next((item.value for item in understand(answer) if item.field == "pii.strategy"), None)
    also = {
        "remove": "drop",
        "leave out": "drop",
        "delete": "drop",
        "encrypt": "hash",
        "pseudonymise": "hash",
        "stars": "mask",
    }
    data["pii"] = {**(data.get("pii") or {"present": True}), "present": True,
                   "strategy": found or choice_of(answer, _STRATEGIES, also)}  # fmt: skip
    return data


# -- quality ----------------------------------------------------------------------------------------------------------


def _quality_open(state: Conversation) -> Iterator[str]:
    if clean_columns(state.data()) and state.requirements.quality is None:
        yield ""


def _ask_quality(state: Conversation, _: str) -> Asked:
    text = (
        "What must hold of the data? Such as: amount is never negative; email is never empty; status is one of a, b. "
        "Say nothing for keys and freshness alone."
    )
    return Asked("quality", text, (), "nothing more", "Keys are checked in any case: not empty, and each once.")


_IS = r"(?P<c>[\w ]+?)\s+(?:is|are|lies|must|may|should|has to)\s+(?:be\s+|lie\s+)?"
_RULES = (
    (re.compile(_IS + r"(?:always\s+)?one of\s+(?P<values>.+)", re.I), "accepted_values"),
    (re.compile(_IS + r"between\s+(?P<low>-?[\d.]+)\s+and\s+(?P<high>-?[\d.]+)", re.I), "range"),
    (re.compile(_IS + r"(?:never|not)\s+(?:be\s+)?(?:negative|below 0)", re.I), "sign"),
    (re.compile(_IS + r"(?:always\s+)?(?:be\s+)?positive", re.I), "sign"),
    (re.compile(_IS + r"(?:never|not)\s+(?:be\s+)?(?:empty|null|missing)", re.I), "not_null"),
    (re.compile(_IS + r"(?:always\s+)?unique", re.I), "unique"),
)


def _take_quality(state: Conversation, _: str, answer: str) -> dict[str, Any]:
    data = state.data()
    if yes_or_no(answer) is False and not any(pattern.search(answer) for pattern, _ in _RULES):
        return data
    sentences = [text.strip() for text in re.split(r";|\.\s|\n|\.$", answer) if text.strip()]
    rules = [_rule(state, sentence) for sentence in sentences]
    data["quality"] = [*(data.get("quality") or ()), *rules]
    return data


def _rule(state: Conversation, sentence: str) -> dict[str, Any]:
    for pattern, check in _RULES:
        found = pattern.fullmatch(sentence)
        if found is None:
            continue
        table, column = _where(state, found["c"])
        rule: dict[str, Any] = {"check": check, "table": table, "columns": [column], "severity": "critical"}
        if check == "accepted_values":
            rule["values"] = [
                name for name in re.split(r"\s*,\s*|\s+(?:or|and)\s+", found["values"].strip(" .")) if name
            ]
        elif check == "range":
            rule |= {"minimum": float(found["low"]), "maximum": float(found["high"])}
        elif check == "sign":
            rule |= {"check": "range", "minimum": 0}
        return rule
    raise NotUnderstoodError(
        f"'{sentence}' is no rule I know: say amount is never negative, email is never empty, status is one of a, b."
    )


def _where(state: Conversation, said: str) -> tuple[str, str]:
    tables = clean_columns(state.data())
    for table, columns in tables.items():
        column = column_named(re.sub(r"^(the|an?|every)\s+", "", said.strip(), flags=re.I), columns)
        if column is not None:
            return table, column
    known = "; ".join(f"{table}: {', '.join(columns)}" for table, columns in tables.items())
    raise NotUnderstoodError(f"No column is called '{said.strip()}': there are {known}.")


TOPICS = (
    Topic("personal data", _pii_open, _ask_pii, _take_pii),
    Topic("personal data is", _strategy_open, _ask_strategy, _take_strategy),
    Topic("quality", _quality_open, _ask_quality, _take_quality),
)

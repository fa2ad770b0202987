"""What a description says in two ways: asked before everything else, as much follows from it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from snowmelt.design.conversation.filling import filled, shown_value
from snowmelt.design.conversation.state import WHICH, Asked, Conversation, Exchange, NotUnderstoodError
from snowmelt.design.conversation.topic import Topic
from snowmelt.design.conversation.understanding import UnderstoodFact, understand

_ABOUT = {
    "latency": "how fresh it must be", "history": "history", "consistency": "delivery", "availability": "importance",
    "deletes": "deletes", "pii.present": "personal data", "pii.strategy": "what happens to personal data",
    "orchestrator": "who starts the runs", "schedule": "when it runs", "shape": "the shape of the tables",
    "retention": "how long data may be kept",
}  # fmt: skip


_ASKED_IN = {
    "latency": "freshness", "history": "history", "availability": "importance", "deletes": "deletes",
    "pii.present": "personal data", "pii.strategy": "personal data is", "orchestrator": "technology",
}  # fmt: skip


def waiting_topics(state: Conversation) -> set[str]:
    """Topics that ask for what is in doubt: which of the two holds is asked instead."""
    return {
        _ASKED_IN[field] for field in state.doubted() if field in _ASKED_IN and not state.answered(f"{WHICH}:{field}")
    }


def _open(state: Conversation) -> Iterable[str]:
    return state.doubted()


def _ask(state: Conversation, field: str) -> Asked:
    facts = state.doubted()[field]
    said = " and ".join(f'"{fact.words}" ({shown_value(field, fact.value)})' for fact in facts)
    text = f"You said {said}, and only one can hold. Which is it?"
    why = f"It is about {_ABOUT[field]}. If parts of it need different things, they are pipelines of their own."
    return Asked(WHICH, text, tuple(fact.words for fact in facts), None, why)


def chosen_words(state: Conversation, field: str, answer: str) -> str:
    """The words of the fact that an answer means: by its words, its number in the list, or its value."""
    facts = state.doubted()[field]
    plain = " ".join(answer.lower().split()).strip(" .\"'")
    for index, fact in enumerate(facts, 1):
        if plain in (fact.words.lower(), str(index), shown_value(field, fact.value).lower()):
            return fact.words
    meant = {item.value for item in understand(answer) if item.field == field}
    found = [fact for fact in facts if fact.value in meant or _named(fact, plain)]
    if len(found) == 1:
        return found[0].words
    raise NotUnderstoodError(f"Say one of: {'; '.join(fact.words for fact in facts)}.")


def _named(fact: UnderstoodFact, plain: str) -> bool:
    return re.search(rf"\b{re.escape(fact.words.lower())}\b", plain) is not None


def _take(state: Conversation, field: str, answer: str) -> dict[str, Any]:
    """What follows from the one that holds, and nothing else: other things may have been answered, or looked at."""
    chosen = Exchange(topic=f"{WHICH}:{field}", question="", answer=chosen_words(state, field, answer))
    before = _filled(state)
    after = _filled(state.model_copy(update={"exchanges": (*state.exchanges, chosen)}))
    data = state.data()
    for name in (before.keys() | after.keys()) - {"sources"}:
        if before.get(name) != after.get(name):
            data.pop(name, None)
            data.update({name: after[name]} if name in after else {})
    if field == "deletes":
        _give_deletes(data, after)
    return data


def _filled(state: Conversation) -> dict[str, Any]:
    found: dict[str, Any] = filled(state)[0].model_dump(mode="json", exclude_none=True)
    return found


def _give_deletes(data: dict[str, Any], after: dict[str, Any]) -> None:
    for source, said in zip(data.get("sources", ()), after.get("sources", ()), strict=False):
        for table in source["tables"]:
            table["deletes"] = next((item["deletes"] for item in said["tables"]), table.get("deletes"))


TOPICS = (Topic(WHICH, _open, _ask, _take, of_parts=True),)

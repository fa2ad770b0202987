"""The conversation as a state machine: a state and an answer give the next state; a state gives the next question.

It opens nothing and writes nothing, so that a terminal, a browser and an assistant hold the same conversation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from snowmelt.core.errors import SnowmeltError
from snowmelt.design.answering import answer_field
from snowmelt.design.conversation import data_topics, doubts, need_topics
from snowmelt.design.conversation.answers import choice_of, is_unsure, yes_or_no
from snowmelt.design.conversation.filling import settled
from snowmelt.design.conversation.state import (
    WHICH,
    Asked,
    Conversation,
    Exchange,
    NotUnderstoodError,
    check_length,
)
from snowmelt.design.conversation.topic import Topic
from snowmelt.design.deciding import MODE_TOPIC, Decision, decide
from snowmelt.design.requirements.missing import answered, questions
from snowmelt.design.requirements.model import Mode, Requirements
from snowmelt.design.rules.known import tables_of
from snowmelt.govern.pii.classes import by_name

PROPOSED = "proposed, and not contradicted"
"""Why something is assumed that nobody said."""
TOPICS: tuple[Topic, ...] = (*doubts.TOPICS, *data_topics.TOPICS, *need_topics.TOPICS)
_ORIGINS = (
    ("latency", "freshness"), ("arrives", "freshness"), ("volume", "volume"), ("pii.strategy", "personal data is"),
    ("sinks.key", "sink key"), ("sinks.kind", "sinks"), ("sources.kind", "sources"), ("pii", "personal data"),
    ("replica_identity", "sources"), ("quality", "quality"), ("monitoring", "told"),
)  # fmt: skip
"""Which topic a fact was asked in, by the field that it comes from."""
_ASKED_IN = {
    "volume.per_day": "volume", "pii.present": "personal data", "pii.strategy": "personal data is",
    "latency": "freshness", "name": "name", "sources": "sources", "sources.tables": "tables", "sinks": "sinks",
    "sinks.key": "sink key",
}  # fmt: skip
"""The topic that asks for a part of the requirements, whatever its source or sink is called: nothing is asked twice."""


def _asked_in(field: str) -> str | None:
    parts = field.split(".")
    return _ASKED_IN.get(field if len(parts) == 1 else f"{parts[0]}.{parts[-1]}")


@dataclass(frozen=True, slots=True)
class _Open:
    """A question, and what an answer to it does."""

    asked: Asked
    topic: Topic | None = None
    subject: str = ""
    rule: Decision | None = None


def next_question(state: Conversation) -> Asked | None:
    """The next question; None if everything is known, and a summary can be shown."""
    found = next(_open(state), None)
    return found.asked if found is not None else None


def open_questions(state: Conversation) -> list[Asked]:
    """All that is open now; answers may open more."""
    return list({found.asked.topic: found.asked for found in _open(state)}.values())


def reply(state: Conversation, answer: str) -> Conversation:
    """The state after an answer. Raises NotUnderstoodError, with what would be understood.

    `back` takes the last answer back; `change freshness` asks for something once more.
    """
    check_length(answer)
    plain = answer.strip()
    if plain.lower() in ("back", "undo"):
        return _replayed(state, state.exchanges[:-1])
    if plain.lower().startswith(("change ", "correct ")):
        return _reopened(state, plain.split(None, 1)[1].lower())
    found = next(_open(state), None)
    if found is None:
        return _agreed(state, plain)
    asked = found.asked
    unsure = is_unsure(plain) or (plain.lower() in ("yes", "ok", "okay", "y") and asked.choices != ("yes", "no"))
    unsure = unsure and found.rule is None
    taken = asked.proposal if unsure and asked.proposal is not None else plain
    if not taken or (unsure and asked.proposal is None and is_unsure(plain)):
        raise NotUnderstoodError(f"There is no proposal for this. {asked.text}")
    try:
        after = _taken(state, found, taken)
    except ValidationError as error:
        raise NotUnderstoodError(
            f"That does not fit: {error.errors()[0]['msg'].removeprefix('Value error, ')}."
        ) from None
    except SnowmeltError as error:
        raise NotUnderstoodError(f"That does not fit: {error.message}") from None
    if found.topic is not None and found.topic.name == WHICH:
        taken = doubts.chosen_words(state, found.subject, taken)
    exchange = Exchange(topic=asked.topic, question=asked.text, answer=taken)
    after = after.model_copy(update={"exchanges": (*state.exchanges, exchange), "reopened": None, "agreed": None})
    if unsure:
        after = after.assume(asked.topic, taken, PROPOSED)
    return settled(after)


def _taken(state: Conversation, found: _Open, answer: str) -> Conversation:
    if found.rule is not None and found.topic is None:
        return _approved(state, found.rule, answer)
    if found.topic is None:
        question = next(item for item in questions(state.requirements) if item.field == found.asked.topic)
        return state.model_copy(update={"requirements": answered(state.requirements, question, answer)})
    return state.with_requirements(found.topic.take(state, found.subject, answer))


def _agreed(state: Conversation, answer: str) -> Conversation:
    said = yes_or_no(answer)
    if said is None:
        raise NotUnderstoodError(
            "Say yes or no; `change freshness` asks for one thing again, `back` takes the last answer back."
        )
    return state.model_copy(update={"agreed": said})


# -- what is open -----------------------------------------------------------------------------------------------------


def _open(state: Conversation) -> Iterator[_Open]:
    """In the order in which it is asked."""
    if state.reopened is not None:
        topic = next(item for item in TOPICS if item.name == state.reopened)
        for subject in tuple(topic.open(state)) or (_last_subject(state, topic),):
            yield _Open(replace(topic.ask(state, subject), topic=_name(topic, subject)), topic, subject)
    settled_first = doubts.waiting_topics(state)
    for topic in TOPICS:
        for subject in topic.open(state) if topic.name not in settled_first else ():
            if not state.answered(_name(topic, subject)):
                yield _Open(replace(topic.ask(state, subject), topic=_name(topic, subject)), topic, subject)
    waiting = {topic.name for topic in TOPICS for subject in topic.open(state)
               if not state.answered(_name(topic, subject))}  # fmt: skip
    for question in questions(state.requirements):
        if question.essential and _asked_in(question.field) not in waiting:
            yield _Open(Asked(question.field, f"{question.text}.", question.choices))
    yield from _of_rules(state)


def _name(topic: Topic, subject: str) -> str:
    return f"{topic.name}:{subject}" if subject else topic.name


def _last_subject(state: Conversation, topic: Topic) -> str:
    named = [item.topic.partition(":")[2] for item in state.exchanges if item.topic.partition(":")[0] == topic.name]
    return named[-1] if named else ""


def _of_rules(state: Conversation) -> Iterator[_Open]:
    """What the rules refuse is asked again, what they ask first is asked."""
    if not state.requirements.sources or state.requirements.latency is None:
        return
    verdict = decide(state.requirements)
    for item in verdict.refusals:
        topic = _topic_of(item)
        if topic is not None:
            subject = next(iter(topic.open(state)), _last_subject(state, topic))
            asked = topic.ask(state, subject)
            text = f"That can't be: {item.outcome}. {item.rule.reason} {asked.text}"
            yield _Open(replace(asked, topic=_name(topic, subject), text=text, proposal=None), topic, subject, item)
    for item in verdict.asks:
        if not state.answered(f"ask:{item.rule.id}"):
            yield _Open(_asked_first(state, item), None, "", item)


def _topic_of(item: Decision) -> Topic | None:
    for fact in item.facts:
        for origin, name in _ORIGINS:
            if origin in fact.origin:
                return next(topic for topic in TOPICS if topic.name == name)
    return None


def _asked_first(state: Conversation, item: Decision) -> Asked:
    topic = f"ask:{item.rule.id}"
    if item.rule.topic == MODE_TOPIC:
        return Asked(topic, item.outcome, tuple(Mode), None, item.rule.reason)
    if item.rule.id == "ASK-PII-DOUBT":
        named = ", ".join(_doubted(state))
        text = f"You said that there is no personal data, and there is {named}. Is it personal data?"
        return Asked(topic, text, ("yes", "no"), None, item.rule.reason)
    if item.rule.field is not None:
        return Asked(topic, item.outcome, (), None, item.rule.reason)
    text = (
        f"{item.outcome} Say who has said yes and why, such as: J. Doe, data protection, for the shop's reports; or no."
    )
    return Asked(topic, text, (), None, item.rule.reason)


def _doubted(state: Conversation) -> list[str]:
    return [f"{table.name}.{column.name}" for _, table in tables_of(state.requirements) for column in table.columns
            if by_name(column.name) is not None]  # fmt: skip


def _approved(state: Conversation, item: Decision, answer: str) -> Conversation:
    data: dict[str, Any] = state.data()
    if item.rule.topic == MODE_TOPIC:
        data["mode"] = choice_of(answer, tuple(Mode))
        return state.with_requirements(data)
    if item.rule.id == "ASK-PII-DOUBT" and yes_or_no(answer):
        for source in data["sources"]:
            for table in source["tables"]:
                for column in table.get("columns", ()):
                    column["pii"] = by_name(column["name"]) is not None
        data["pii"] = {"present": True}
        return state.with_requirements(data)
    if item.rule.id == "ASK-PII-DOUBT":
        data["approvals"] = {
            **data.get("approvals", {}),
            item.rule.id: f"{', '.join(_doubted(state))} is none: {answer}",
        }
        return state.with_requirements(data)
    if item.rule.field is not None:
        return state.model_copy(update={"requirements": _fact(state, item.rule.field, answer)})
    if yes_or_no(answer) is False:
        return state
    if len(answer.split()) < 2:
        raise NotUnderstoodError("Say who has said yes, and why: a name and a reason. Or say no.")
    data["approvals"] = {**data.get("approvals", {}), item.rule.id: answer}
    return state.with_requirements(data)


def _fact(state: Conversation, field: str, answer: str) -> Requirements:
    try:
        return answer_field(state.requirements, field, answer)
    except ValidationError:
        raise
    except ValueError as error:
        raise NotUnderstoodError(f"{error}."[0].upper() + f"{error}."[1:]) from None


# -- corrections ------------------------------------------------------------------------------------------------------


def _replayed(state: Conversation, exchanges: tuple[Exchange, ...]) -> Conversation:
    """From the start, with these answers; one that is no longer asked is left out."""
    begun = state.model_copy(update={
        "requirements": state.origin, "exchanges": (), "reopened": None, "agreed": None,
        "assumed": tuple(item for item in state.assumed if item.why != PROPOSED),
    })  # fmt: skip
    for exchange in exchanges:
        asked = next_question(begun)
        if asked is None or asked.topic != exchange.topic:
            continue
        begun = reply(begun, exchange.answer)
    return begun


def _reopened(state: Conversation, words: str) -> Conversation:
    topics = {topic.name: topic for topic in TOPICS}
    near = (name for name in sorted(topics, key=len, reverse=True) if name in words or words in name)
    found = words if words in topics else next(near, None)
    if found is None:
        raise NotUnderstoodError(f"I can ask again for {', '.join(sorted(topics))}.")
    topic = topics[found]
    if topic.of_parts and not (any(topic.open(state)) or _last_subject(state, topic)):
        raise NotUnderstoodError(f"Nothing was asked about {found} so far.")
    return state.model_copy(update={"reopened": found, "agreed": None})

"""The state of a conversation: plain data, which goes through JSON and back, so that whoever talks may keep it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from snowmelt.design.conversation.understanding import ONE_OF, UnderstoodFact
from snowmelt.design.requirements.model import Requirements, Source, Table
from snowmelt.design.rules.known import tables_of

WHICH = "which"
"""The topic that asks which of two things holds."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Assumption(_Part):
    """A detail that was not given: the value that was assumed, and the reason."""

    field: str
    value: str
    why: str


class Exchange(_Part):
    topic: str
    """What was asked, with what it is about: `columns:public.orders`."""
    question: str
    answer: str


class Conversation(_Part):
    description: str = ""
    requirements: Requirements = Requirements()
    findings: tuple[UnderstoodFact, ...] = ()
    assumed: tuple[Assumption, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    origin: Requirements = Requirements()
    """Before the first answer, so that answers can be taken back."""
    reopened: str | None = None
    """A topic that is asked again, though nothing in it is open."""
    agreed: bool | None = None
    """The answer to "Shall I build it?"; None before it."""

    def said(self, field: str) -> Any:
        """What the description says of it, or None; also None while it says two things of which one can hold."""
        found = [finding for finding in self.findings if finding.field == field]
        if field in self.doubted():
            chosen = next((item.answer for item in reversed(self.exchanges) if item.topic == f"{WHICH}:{field}"), None)
            found = [finding for finding in found if finding.words == chosen]
        return found[0].value if found else None

    def doubted(self) -> dict[str, list[UnderstoodFact]]:
        """What the description contradicts itself in: the facts, by their field."""
        found: dict[str, list[UnderstoodFact]] = {}
        for finding in self.findings:
            if finding.field in ONE_OF:
                found.setdefault(finding.field, []).append(finding)
        return {field: facts for field, facts in found.items() if len(facts) > 1}

    def all_said(self, field: str) -> list[Any]:
        return [finding.value for finding in self.findings if finding.field == field]

    def answered(self, topic: str) -> bool:
        return any(exchange.topic == topic for exchange in self.exchanges)

    def with_requirements(self, data: dict[str, Any]) -> Conversation:
        """Raises ValueError (pydantic's) for what does not fit."""
        return self.model_copy(update={"requirements": Requirements.model_validate(data)})

    def data(self) -> dict[str, Any]:
        """The requirements as plain values, to be changed."""
        return self.requirements.model_dump(mode="json", exclude_none=True)

    def assume(self, field: str, value: object, why: str) -> Conversation:
        return self.model_copy(update={"assumed": (*self.assumed, Assumption(field=field, value=str(value), why=why))})


@dataclass(frozen=True, slots=True)
class Asked:
    """One question."""

    topic: str
    text: str
    choices: tuple[str, ...] = ()
    """What may be answered; others are understood too where the text says so."""
    proposal: str | None = None
    """What is taken for an empty answer."""
    why: str = ""


class NotUnderstoodError(ValueError):
    """An answer that says nothing about what was asked. Its text tells what would."""


_BLANK = re.compile(r"\s{100}")
LONGEST = 20_000
"""Characters of a description or an answer."""


def check_length(said: str) -> None:
    """Raises NotUnderstoodError for more than anybody says: reading it would take the server's time from others."""
    if len(said) > LONGEST or _BLANK.search(said):
        raise NotUnderstoodError(
            f"A description or an answer has at most {LONGEST:,} characters, and words among them."
        )


def tables_in(conversation: Conversation) -> Iterator[tuple[Source, Table]]:
    return tables_of(conversation.requirements)


def changed_table(data: dict[str, Any], name: str, /, **values: Any) -> dict[str, Any]:
    """The requirements with other facts of one table."""
    for source in data.get("sources", ()):
        for table in source["tables"]:
            if f"{source['name']}.{table['name']}" == name:
                table.update(values)
    return data

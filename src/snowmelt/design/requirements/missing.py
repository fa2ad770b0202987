"""What the requirements do not say yet: questions for a terminal, or for whoever reads the error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from snowmelt.design.requirements.model import PiiStrategy, Recipe, Requirements, SinkKind, SourceKind


@dataclass(frozen=True, slots=True)
class MissingAnswer:
    field: str
    """Where the answer belongs: `latency`, `sources`, `pii.strategy`."""
    text: str
    default: str | None = None
    """What is taken when nobody answers; None for an essential, without which there is no design."""
    choices: tuple[str, ...] = ()

    @property
    def essential(self) -> bool:
        return self.default is None


def questions(given: Requirements) -> list[MissingAnswer]:
    """All that is open, essentials first."""
    found = list(_essential(given)) + list(_optional(given))
    return sorted(found, key=lambda item: not item.essential)


def _essential(given: Requirements) -> Iterator[MissingAnswer]:
    if given.name is None:
        yield MissingAnswer("name", "A name for the pipeline (letters, digits, underscores)")
    if not given.sources:
        kinds = tuple(SourceKind)
        yield MissingAnswer("sources", f"The sources, each as name:kind:table ({', '.join(kinds)})")
    for source in given.sources:
        if not source.tables:
            yield MissingAnswer(f"sources.{source.name}.tables", f"The tables, topics or files of {source.name}")
    if not given.sinks and given.recipe is not Recipe.QUALITY:
        yield MissingAnswer("sinks", f"The sinks, each as name:kind ({', '.join(SinkKind)})")
    if given.latency is None:
        yield MissingAnswer("latency", "How old may the data be in the sinks (5 minutes, 1 hour, 1 day)")
    if given.volume is None or (given.volume.events_per_second is None and given.volume.per_day is None):
        yield MissingAnswer("volume.per_day", "How much data comes in a day (200 MB, 50 GB, 2 TB)")
    if given.pii is None:
        yield MissingAnswer("pii.present", "Is there personal data in it", choices=("yes", "no"))
    elif given.personal and given.pii.strategy is None:
        choices = tuple(item for item in PiiStrategy if item is not PiiStrategy.NONE)
        yield MissingAnswer("pii.strategy", "What happens to personal data", choices=choices)
    yield from _reverse(given)


def _reverse(given: Requirements) -> Iterator[MissingAnswer]:
    if given.recipe is not Recipe.REVERSE:
        return
    for sink in given.sinks:
        if sink.kind is SinkKind.SNOWMELT:
            continue
        if not sink.key:
            yield MissingAnswer(f"sinks.{sink.name}.key", f"The key by which {sink.name} knows a row")
        if not sink.fields:
            yield MissingAnswer(f"sinks.{sink.name}.fields", f"The fields of {sink.name}, each as column:field")
        if sink.on_reject is None:
            text = f"When {sink.name} rejects a row"
            yield MissingAnswer(f"sinks.{sink.name}.on_reject", text, choices=("reject_row", "halt"))


def _optional(given: Requirements) -> Iterator[MissingAnswer]:
    if given.owner is None:
        yield MissingAnswer("owner", "Who owns it", "nobody yet")
    if given.history is None:
        yield MissingAnswer("history", "How much of the past do the outputs need", "window", ("full", "window", "none"))
    if given.consistency is None:
        choices = ("exactly_once", "at_least_once")
        yield MissingAnswer("consistency", "May a row arrive twice in a sink", "at_least_once", choices)
    if given.replay is None:
        yield MissingAnswer("replay.window", "How far back must everything be computable again", "30 days")
    if given.availability is None:
        tiers = ("critical", "important", "standard")
        yield MissingAnswer("availability", "How important is it", "standard", tiers)


def answered(given: Requirements, question: MissingAnswer, answer: str) -> Requirements:
    """The requirements with one answer in them. Raises ValueError (pydantic's) for an answer that is not valid."""
    data: dict[str, Any] = given.model_dump(mode="json", exclude_none=True)
    parts = question.field.split(".")
    value = _value(question.field, parts[-1], answer)
    if parts[0] in ("sources", "sinks") and len(parts) == 3:
        item = next(item for item in data[parts[0]] if item["name"] == parts[1])
        item[parts[2]] = value
    elif len(parts) == 2:
        data.setdefault(parts[0], {})[parts[1]] = value
    else:
        data[parts[0]] = value
    return Requirements.model_validate(data)


def _value(path: str, last: str, answer: str) -> Any:
    words = [word.strip() for word in answer.split(",") if word.strip()]
    if path == "sources":
        return [_source(word) for word in words]
    if path == "sinks":
        return [dict(zip(("name", "kind"), word.split(":"), strict=False)) for word in words]
    match last:
        case "tables":
            return [{"name": word} for word in words]
        case "fields":
            return [dict(zip(("source", "target"), word.split(":"), strict=False)) for word in words]
        case "key":
            return words
        case "present":
            return answer.strip().lower() in ("yes", "y", "true")
    return answer.strip()


def _source(word: str) -> dict[str, Any]:
    name, _, rest = word.partition(":")
    kind, _, table = rest.partition(":")
    return {"name": name, "kind": kind, "tables": [{"name": table}] if table else []}

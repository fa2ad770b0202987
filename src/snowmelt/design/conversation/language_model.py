"""A language model as a second reader of a description. It fills the same facts, and may not invent any.

A fact counts only with a quotation that stands in the description, in a field that our own grammar left open, and with
a value that the requirements take. What it says otherwise is dropped without harm; the questions ask for it.
"""

from __future__ import annotations

import json
import os
from typing import Any

import httpx
from pydantic import ValidationError

from snowmelt.core import errors
from snowmelt.core.config import LanguageModelSettings
from snowmelt.design.conversation.filling import begin
from snowmelt.design.conversation.understanding import UnderstoodFact
from snowmelt.design.requirements.model import SinkKind, SourceKind

_FIELDS = {
    "sources": f"an object with kind (one of {', '.join(SourceKind)}), name (or null) and tables (a list of names)",
    "sinks": f"one of {', '.join(SinkKind)}",
    "outputs": "the name of a table that is to be made",
    "latency": "how old the data may be, in seconds",
    "lateness": "how late rows may come, in seconds",
    "schedule": "cron's five fields and a time zone",
    "volume.per_day": "bytes a day",
    "volume.events_per_second": "rows a second",
    "pii.present": "true or false",
    "pii.columns": "a list of columns with personal data",
    "pii.strategy": "one of hash, mask, tokenise, drop",
    "history": "one of full, window, none",
    "consistency": "one of exactly_once, at_least_once",
    "availability": "one of critical, important, standard",
    "owner": "a person or team",
    "recipe": "one of etl, elt, stream, dbt, cdc, reverse, quality",
    "deletes": "true or false: whether rows are deleted in the source",
}
_TASK = (
    "You read a description of a data pipeline. Answer with JSON alone: "
    '{"facts": [{"field": ..., "value": ..., "quote": ...}]}. The quote is copied from the description. '
    "Leave out what the description does not say. Fields: "
)


def read_by_model(description: str, settings: LanguageModelSettings) -> list[UnderstoodFact]:
    """Raises when the model can't be asked: who configured one wants to know."""
    task = _TASK + "; ".join(f"{name}: {what}" for name, what in _FIELDS.items())
    messages = [{"role": "system", "content": task}, {"role": "user", "content": description}]
    key = os.environ.get(settings.key_env or "", "")
    try:
        answer = httpx.post(
            f"{settings.url.rstrip('/')}/chat/completions",
            json={"model": settings.model, "messages": messages, "temperature": 0,
                  "response_format": {"type": "json_object"}},
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=settings.timeout_seconds,
        )  # fmt: skip
        answer.raise_for_status()
        facts = json.loads(answer.json()["choices"][0]["message"]["content"])["facts"]
    except (httpx.HTTPError, ValueError, KeyError, IndexError, TypeError) as error:
        raise errors.configuration(
            f"The language model at {settings.url} gave no usable answer: {type(error).__name__}.",
            hint="Leave [language_model] out of the configuration: it is not needed.",
        ) from None
    return [found for fact in facts if (found := _fact(description, fact)) is not None]


def _fact(description: str, fact: Any) -> UnderstoodFact | None:
    if not isinstance(fact, dict) or fact.get("field") not in _FIELDS or not isinstance(fact.get("quote"), str):
        return None
    start = description.find(fact["quote"]) if fact["quote"].strip() else -1
    if start < 0:
        return None
    value = fact.get("value")
    if fact["field"] == "sources" and not _is_source(value):
        return None
    found = UnderstoodFact(field=fact["field"], value=value, words=fact["quote"], start=start)
    try:
        begin("", [found])
    except (ValidationError, TypeError, AttributeError, KeyError):
        return None
    return found


def _is_source(value: Any) -> bool:
    tables = value.get("tables") if isinstance(value, dict) else None
    named = isinstance(value, dict) and value.keys() == {"kind", "name", "tables"} and value["kind"] in set(SourceKind)
    return named and isinstance(tables, list) and all(isinstance(name, str) for name in tables)

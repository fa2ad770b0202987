"""Questions about what is needed: outputs, freshness, volume, history, technology, who is told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from snowmelt.design.conversation import care_topics
from snowmelt.design.conversation.answers import (
    choice_of,
    column_named,
    names_of_answer,
    seconds_of_answer,
    volume_of,
    yes_or_no,
)
from snowmelt.design.conversation.computing import CleanTable, computed, is_query, over_clean_tables, said_in
from snowmelt.design.conversation.filling import alert_channel, begin
from snowmelt.design.conversation.state import Asked, Conversation, NotUnderstoodError, tables_in
from snowmelt.design.conversation.topic import Topic
from snowmelt.design.conversation.understanding import understand
from snowmelt.design.making.stages import plain_name
from snowmelt.design.requirements.amounts import show_bytes, show_seconds
from snowmelt.design.requirements.model import ORCHESTRATORS, SinkKind, SourceKind

_SINKS = tuple(kind.value for kind in SinkKind)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


# -- outputs ----------------------------------------------------------------------------------------------------------


def _ask_sinks(state: Conversation, _: str) -> Asked:
    refused = [text.partition(": ")[2] for text in state.all_said("unsupported") if text.startswith("sink")]
    why = f"{', '.join(refused)} can't be written here." if refused else ""
    return Asked("sinks", "Where should it go? snowmelt means tables here.", _SINKS, "snowmelt", why)


def _take_sinks(state: Conversation, _: str, answer: str) -> dict[str, Any]:
    data = state.data()
    found = begin(f"from files to {answer}").requirements.sinks
    names = {source.name for source in state.requirements.sources}
    if found:
        sinks = [sink.model_dump(mode="json", exclude_none=True) for sink in found]
    else:
        kind = choice_of(answer, _SINKS, {"here": "snowmelt", "table": "snowmelt", "tables": "snowmelt"})
        sinks = [{"name": "mart" if kind == "snowmelt" else kind, "kind": kind}]
    for sink in sinks:
        sink["name"] = f"{sink['name']}_out" if sink["name"] in names else sink["name"]
    data["sinks"] = sinks
    return data


def _sink_keys_open(state: Conversation) -> Iterator[str]:
    for sink in state.requirements.sinks:
        if sink.kind in (SinkKind.API, SinkKind.POSTGRES) and not sink.key and sink.load is None:
            yield sink.name


def _ask_sink_key(state: Conversation, subject: str) -> Asked:
    keys = [item.key for item in state.requirements.transformations if item.key]
    keys += [table.key for _, table in tables_in(state) if table.key]
    text = f"By which column does {subject} know a row again? Say none if it is written anew as a whole."
    return Asked(
        "sink key", text, (), ", ".join(keys[0]) if keys else "none", "Without a key a repeated row is a second row."
    )


def _take_sink_key(state: Conversation, subject: str, answer: str) -> dict[str, Any]:
    data = state.data()
    for sink in data["sinks"]:
        if sink["name"] == subject:
            names = [name.replace(" ", "_") for name in names_of_answer(answer)]
            sink.update({"load": "overwrite"} if yes_or_no(answer) is False else {"key": names})
    return data


def clean_tables(state: Conversation) -> list[CleanTable]:
    found = []
    for source, table in tables_in(state):
        if source.kind is not SourceKind.SNOWMELT and table.columns:
            columns = {column.name: column.type for column in table.columns}
            found.append(CleanTable(f"stg_{plain_name(table.name)}", columns, table.key))
    return found


def _outputs_open(state: Conversation) -> Iterator[str]:
    made = {item.name.lower() for item in state.requirements.transformations}
    if state.requirements.recipe in ("reverse", "quality") or not clean_tables(state):
        return
    wanted = [name for name in state.all_said("outputs") if name not in made]
    yield from wanted
    if not wanted and not made:
        yield ""


def _ask_output(state: Conversation, subject: str) -> Asked:
    tables = clean_tables(state)
    said = said_in(state.description, tables, subject)
    proposal = said or (_proposed_output(tables, subject) if subject else "nothing")
    what = f"How is {subject} computed?" if subject else "Is anything computed from these tables?"
    text = f"{what} Say it like: sum of amount by customer, orders per day; or write a SELECT. "
    text += "Say nothing for the clean tables alone."
    known = "; ".join(f"{table.name}: {', '.join(table.columns)}" for table in tables)
    return Asked("output", text, (), proposal, f"There are {known}.")


def _proposed_output(tables: list[CleanTable], name: str) -> str:
    """A sum, by what the name says (`revenue_by_customer`), or else by what rows belong to."""
    wanted = next((part for word in ("_by_", "_per_") if (part := name.lower().partition(word)[2])), None)
    for table in tables:
        amount = next((name for name, type_ in table.columns.items() if type_ in ("NUMBER(12,2)", "FLOAT")), None)
        group = next((name for name in table.columns if name.endswith("_id") and name not in table.key), None)
        by = wanted if wanted is not None and column_named(wanted, list(table.columns)) is not None else group
        if amount is not None:
            return f"sum of {amount} by {by or 'day'}"
    return "nothing"


def _take_output(state: Conversation, subject: str, answer: str) -> dict[str, Any]:
    data = state.data()
    if yes_or_no(answer) is False:
        return data
    tables = clean_tables(state)
    name = re.sub(r"\W+", "_", subject or "summary")
    if is_query(answer):
        made: dict[str, Any] = {"name": name, "sql": over_clean_tables(answer, tables)}
    else:
        found = computed(answer, tables, subject)
        made = {"name": name, "sql": found.sql, "key": list(found.key), "description": f"{answer.strip().rstrip('.')}."}
    data["transformations"] = [*data.get("transformations", ()), made]
    return data


# -- freshness and volume ---------------------------------------------------------------------------------------------


def _ask_latency(state: Conversation, _: str) -> Asked:
    arrives = max((source.arrives for source in state.requirements.sources if source.arrives is not None), default=None)
    proposal = "30 seconds" if state.said("real_time") else show_seconds(arrives) if arrives else "1 hour"
    why = "Below a minute everything runs all the time; five minutes cost a fraction of it."
    return Asked(
        "freshness", "How old may the data be? Such as: real-time, 5 minutes, an hour, daily.", (), proposal, why
    )


def _take_latency(state: Conversation, _: str, answer: str) -> dict[str, Any]:
    seconds = seconds_of_answer(answer)
    if seconds is None:
        seconds = next((item.value for item in understand(answer) if item.field == "latency"), None)
    if seconds is None:
        raise NotUnderstoodError(f"'{answer}' is not a length of time: say real-time, 5 minutes, an hour, or daily.")
    return {**state.data(), "latency": seconds}


def _ask_volume(state: Conversation, _: str) -> Asked:
    text = "How much comes in a day? Such as: 2 GB, about a million rows, 500 events per second."
    said = state.said("size")
    return Asked(
        "volume", text, (), show_bytes(said) if said else "1 GB", "Engine, partitioning and cost follow from it."
    )


def _volume_open(state: Conversation) -> Iterator[str]:
    volume = state.requirements.volume
    if volume is None or (volume.per_day is None and volume.events_per_second is None):
        yield ""


def _ask_history(_: Conversation, __: str) -> Asked:
    text = "Is only the current state needed, or every version of a row as well?"
    return Asked(
        "history",
        text,
        ("current", "every version"),
        "current",
        "Every version is kept as a slowly changing dimension (type 2).",
    )


def _history_open(state: Conversation) -> Iterator[str]:
    given = state.requirements
    inside = any(sink.kind is SinkKind.SNOWMELT for sink in given.sinks)
    keyed = any(table.key for _, table in tables_in(state))
    if (
        inside
        and keyed
        and given.history is None
        and not any(sink.load for sink in given.sinks)
        and not given.transformations
    ):
        yield ""


def _take_history(state: Conversation, _: str, answer: str) -> dict[str, Any]:
    also = {"versions": "every version", "all": "every version", "history": "every version", "now": "current",
            "latest": "current", "no": "current", "only": "current"}  # fmt: skip
    data = state.data()
    if choice_of(answer, ("current", "every version"), also) == "every version":
        for sink in data["sinks"]:
            if sink["kind"] == SinkKind.SNOWMELT:
                sink["load"] = "scd_type_2"
    return data


# -- running it -------------------------------------------------------------------------------------------------------


def _ask_technology(state: Conversation, _: str) -> Asked:
    said = state.said("orchestrator")
    why = (
        f"{said} is not among what is built here."
        if said is not None and said not in ORCHESTRATORS
        else "Snowmelt's own scheduler needs nothing beside it."
    )
    return Asked("technology", "Who starts the runs?", ORCHESTRATORS, "snowmelt", why)


def _take_technology(state: Conversation, _: str, answer: str) -> dict[str, Any]:
    also = {"itself": "snowmelt", "no": "snowmelt", "nobody": "snowmelt", "none": "snowmelt", "crontab": "cron"}
    chosen = choice_of(answer, ORCHESTRATORS, also)
    return state.data() if chosen == "snowmelt" else {**state.data(), "orchestrator": chosen}


def _ask_availability(_: Conversation, __: str) -> Asked:
    choices = ("critical", "important", "standard")
    return Asked(
        "importance",
        "How bad is it when it stands still?",
        choices,
        "standard",
        "43 minutes, 3.6 hours or 7.2 hours a month may be lost.",
    )


def _take_availability(state: Conversation, _: str, answer: str) -> dict[str, Any]:
    also = {
        "very bad": "critical",
        "terrible": "critical",
        "very": "critical",
        "bad": "important",
        "not": "standard",
        "no": "standard",
    }
    return {**state.data(), "availability": choice_of(answer, ("critical", "important", "standard"), also)}


def _ask_owner(_: Conversation, __: str) -> Asked:
    return Asked("owner", "Who owns it?", (), "nobody yet", "Somebody has to answer when it breaks.")


def _ask_alerts(_: Conversation, __: str) -> Asked:
    text = "Who is told when it fails? An address (ops@example.com), a Slack channel (#data), a webhook, or the log."
    return Asked("told", text, (), "log", "Nobody reads a log at night.")


def _take_alerts(state: Conversation, _: str, answer: str) -> dict[str, Any]:
    found = next((str(item.value) for item in understand(answer) if item.field == "monitoring"), None)
    if found is None and (said := re.search(r"(webhook|slack):?\s*([A-Z_][A-Z0-9_]*)", answer)) is not None:
        found = f"{said[1]}:{said[2]}"
    elif found is None and "webhook" in answer.lower():
        found = "webhook:ALERT_WEBHOOK_URL"
    if found is None and (yes_or_no(answer) is False or "log" in answer.lower()):
        found = "log"
    if found is None:
        raise NotUnderstoodError(
            f"Alerts can't go to '{answer}': write an e-mail address, a #channel, webhook, or log."
        )
    return {**state.data(), "monitoring": {"channel": alert_channel(found)}}


def _ask_name(_: Conversation, __: str) -> Asked:
    return Asked("name", "What is the pipeline called?", (), "pipeline")


def _take_name(state: Conversation, _: str, answer: str) -> dict[str, Any]:
    name = re.sub(r"\W+", "_", answer.strip()).strip("_").lower()
    if _IDENTIFIER.fullmatch(name) is None:
        raise NotUnderstoodError("A name begins with a letter and has letters, digits and underscores.")
    return {**state.data(), "name": name}


def _once(missing: str) -> Any:
    return lambda state: [""] if getattr(state.requirements, missing) is None else []


TOPICS = (
    Topic("sinks", lambda state: [] if state.requirements.sinks or state.requirements.recipe == "quality" else [""],
          _ask_sinks, _take_sinks),
    Topic("output", _outputs_open, _ask_output, _take_output),
    Topic("sink key", _sink_keys_open, _ask_sink_key, _take_sink_key, of_parts=True),
    Topic("freshness", _once("latency"), _ask_latency, _take_latency),
    Topic("volume", _volume_open, _ask_volume, lambda state, _, answer: {**state.data(), "volume": volume_of(answer)}),
    Topic("history", _history_open, _ask_history, _take_history),
    *care_topics.TOPICS,
    Topic("technology", _once("orchestrator"), _ask_technology, _take_technology),
    Topic("importance", _once("availability"), _ask_availability, _take_availability),
    Topic("owner", _once("owner"), _ask_owner, lambda state, _, answer: {**state.data(), "owner": answer.strip()}),
    Topic("told", _once("monitoring"), _ask_alerts, _take_alerts),
    Topic("name", _once("name"), _ask_name, _take_name),
)  # fmt: skip

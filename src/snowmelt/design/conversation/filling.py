"""From what was understood to requirements, and what was assumed on the way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from snowmelt.design.conversation.answers import column_named, columns_of
from snowmelt.design.conversation.language import foreign_language
from snowmelt.design.conversation.state import (
    Assumption,
    Conversation,
    check_length,
)
from snowmelt.design.conversation.tokens import tokens_of
from snowmelt.design.conversation.understanding import UnderstoodFact, understand
from snowmelt.design.conversation.vocabulary import vocabulary
from snowmelt.design.making.stages import plain_name
from snowmelt.design.requirements.amounts import show_bytes, show_seconds
from snowmelt.design.requirements.model import ORCHESTRATORS, Requirements, SinkKind, SourceKind

_DAY = 86_400
_PLAIN = {
    "latency": "latency", "history": "history", "consistency": "consistency", "availability": "availability",
    "owner": "owner", "residency": "residency", "schedule": "schedule", "recipe": "recipe", "lateness": "lateness",
    "shape": "shape", "retention": "retention",
}  # fmt: skip
"""Facts that are fields of the requirements as they are."""


def begin(description: str, others: Sequence[UnderstoodFact] = ()) -> Conversation:
    """A conversation that has understood its first sentence. `others`: what somebody else read in it.

    Raises NotUnderstoodError for a text that is too long.
    """
    check_length(description)
    own = understand(description)
    findings = (*own, *(item for item in others if item.field not in {finding.field for finding in own}))
    state = Conversation(description=description, findings=findings)
    given, assumed = filled(state)
    return settled(state.model_copy(update={"requirements": given, "origin": given, "assumed": assumed}))


def filled(state: Conversation) -> tuple[Requirements, tuple[Assumption, ...]]:
    """Requirements from what was understood, with what was assumed."""
    description = state.description
    data: dict[str, Any] = {"description": " ".join(description.split())} if description.strip() else {}
    assumed: list[Assumption] = []
    language = foreign_language(tokens_of(description))
    if language is not None and all(finding.field == "sources" for finding in state.findings):
        why = f"this seems to be {language}: say it in English, or answer the questions"
        assumed.append(Assumption(field="language", value="not understood", why=why))
    for field, name in _PLAIN.items():
        if (value := state.said(field)) is not None and not (field == "lateness" and not value):
            data[name] = value
    if (chosen := state.said("orchestrator")) in ORCHESTRATORS:
        data["orchestrator"] = chosen
    _fill_sources(state, data, assumed)
    _fill_sinks(state, data, assumed)
    _fill_folders(description, data, assumed)
    _fill_needs(state, data, assumed)
    assumed += _left_out(state, data)
    called = _name(state)
    if called is not None:
        data["name"] = called
        assumed.append(Assumption(field="name", value=called, why="what the description speaks of"))
    return Requirements.model_validate(data), tuple(assumed)


def _fill_sources(state: Conversation, data: dict[str, Any], assumed: list[Assumption]) -> None:
    names: set[str] = set()
    sources = []
    for found in state.all_said("sources"):
        name = _identifier(found["name"] or found["kind"])
        while name in names:
            name += "_2"
        names.add(name)
        source: dict[str, Any] = {"name": name, "kind": found["kind"], "tables": []}
        for table in found["tables"]:
            written = table
            if found["kind"] == SourceKind.POSTGRES and "." not in table and not state.said("tenants"):
                written = f"public.{table}"
                assumed.append(
                    Assumption(field=f"sources.{name}", value=written, why="the schema public, as none is named")
                )
            source["tables"].append({"name": written, **_said_of(state, table)})
        if found.get("address"):
            source["connection"] = found["address"]
        if state.said("constrained"):
            source["constrained"] = True
        if (arrives := state.said("arrives")) is not None:
            source["arrives"] = arrives
        if (rate := state.said("rate_limit")) is not None and found["kind"] == SourceKind.API:
            source["options"] = {"requests_per_second": rate}
        sources.append(source)
    if sources:
        data["sources"] = sources


def _is_denied(state: Conversation) -> bool:
    """Whether it is said that there is no personal data, and nobody has said since that there is."""
    return state.said("pii.present") is False or (
        state.said("pii.present") is None and bool(state.doubted().get("pii.present"))
    )


def _said_of(state: Conversation, table: str) -> dict[str, Any]:
    """What the description says of a table: its columns, how many rows it has, whether they are deleted."""
    said: dict[str, Any] = {}
    for name, listed in state.all_said("columns"):
        if name == table:
            columns = columns_of(listed)
            said["columns"] = [{**column, "pii": False} for column in columns] if _is_denied(state) else columns
    for name, count in state.all_said("rows"):
        if name == table:
            said["rows"] = count
    if (deletes := state.said("deletes")) is not None:
        said["deletes"] = deletes
    return said


def _fill_sinks(state: Conversation, data: dict[str, Any], assumed: list[Assumption]) -> None:
    kinds = state.all_said("sinks")
    if not kinds and state.all_said("outputs"):
        kinds = [SinkKind.SNOWMELT]
        assumed.append(
            Assumption(field="sinks", value="snowmelt", why="a table is asked for, and no other sink is named")
        )
    sinks: list[dict[str, Any]] = []
    for kind in kinds:
        taken = {sink["name"] for sink in sinks} | {source["name"] for source in data.get("sources", ())}
        name = _SINK_NAMES.get(kind, kind)
        sink: dict[str, Any] = {"name": name if name not in taken else f"{name}_out", "kind": str(kind)}
        if state.said("real_time"):
            sink["real_time"] = True
        if state.said("scd") == 2 and kind == SinkKind.SNOWMELT:
            sink["load"] = "scd_type_2"
        if (rate := state.said("rate_limit")) is not None and kind == SinkKind.API:
            sink["requests_per_second"] = rate
        sinks.append(sink)
    if sinks:
        data["sinks"] = sinks


_FOLDER = re.compile(
    r"\b(from|in|of|out of|to|into|under)\s+(?:the |our |a )?(?:folder|directory)\s+(?:called |named )?"
    r"[`'\"]?([\w/][\w./-]*)", re.IGNORECASE,
)  # fmt: skip
_FILE_SINKS = ("parquet", "csv", "delta")


def _fill_folders(description: str, data: dict[str, Any], assumed: list[Assumption]) -> None:
    """`from the folder incoming … in the folder exports`: the first is where files come from, if they do."""
    words = vocabulary().stops
    named = [(role.lower(), name.rstrip(".,")) for role, name in _FOLDER.findall(description)]
    folders = [(role, name) for role, name in named if name.lower() not in words]
    ends = [("sources", item) for item in data.get("sources", ()) if item["kind"] == SourceKind.FILES]
    ends += [("sinks", item) for item in data.get("sinks", ()) if item["kind"] in _FILE_SINKS]
    for part, item in ends:
        fitting = next((found for found in folders if (found[0] in ("to", "into")) <= (part == "sinks")), None)
        if fitting is not None:
            folders.remove(fitting)
            item["connection"] = fitting[1]
            why = "the folder that is named"
            assumed.append(Assumption(field=f"{part}.{item['name']}.connection", value=fitting[1], why=why))


_SINK_NAMES = {"snowmelt": "mart", "parquet": "lake", "delta": "lake", "csv": "export"}


def _fill_needs(state: Conversation, data: dict[str, Any], assumed: list[Assumption]) -> None:
    if data.get("latency", _DAY) < _DAY:
        data.pop("schedule", None)
    if "latency" not in data and data.get("schedule") is not None and "latency" not in state.doubted():
        data["latency"] = _DAY
        assumed.append(Assumption(field="latency", value="1 day", why=f"it runs once a day ({data['schedule']})"))
    if laws := state.all_said("compliance"):
        data["compliance"] = laws
    if (window := state.said("replay.window")) is not None:
        data["replay"] = {"window": window}
    volume = {
        name: value for name in ("per_day", "events_per_second") if (value := state.said(f"volume.{name}")) is not None
    }
    if volume:
        data["volume"] = volume
    if (channel := state.said("monitoring")) is not None:
        data["monitoring"] = {"channel": alert_channel(str(channel))}
    columns = state.said("pii.columns")
    present, strategy = state.said("pii.present"), state.said("pii.strategy")
    if present is False:
        data["pii"] = {"present": False}
    elif present or (columns and "pii.present" not in state.doubted()):
        data["pii"] = {"present": True, **({"strategy": strategy} if strategy is not None else {})}


_NOT_HERE = {
    "source": ("sources", "it can't be read here: export it as files, or offer an API"),
    "sink": ("sinks", "nothing is written there from here"),
    "engine": ("technology", "what is built here computes on Spark"),
}


def _left_out(state: Conversation, data: dict[str, Any]) -> list[Assumption]:
    """What is named and not to be had, where something else of its kind is: else it is asked for."""
    found = []
    for text in state.all_said("unsupported"):
        kind, _, name = text.partition(": ")
        field, why = _NOT_HERE[kind]
        if data.get(field) or kind == "engine":
            found.append(Assumption(field=field, value=f"without {name}", why=why))
    return found


def alert_channel(said: str) -> str:
    """`slack:#data-ops` goes to the address in a variable, as a webhook's address is a secret."""
    kind, _, where = said.partition(":")
    if kind != "slack":
        return said
    name = re.sub(r"\W+", "_", where).strip("_").upper() or "SLACK"
    return f"slack:{name}_WEBHOOK_URL" if name != "SLACK" else "slack:SLACK_WEBHOOK_URL"


def _name(state: Conversation) -> str | None:
    for output in state.all_said("outputs"):
        return _identifier(output)
    for source in state.all_said("sources"):
        words = [source["name"] or "", *[plain_name(table) for table in source["tables"][:2]]]
        found = _identifier("_".join(word for word in words if word) or source["kind"])
        return found if found != "data" else None
    return None


def _identifier(text: str) -> str:
    word = re.sub(r"\W+", "_", text.lower()).strip("_") or "data"
    return word if not word[0].isdigit() else f"p_{word}"


# -- what had to wait -------------------------------------------------------------------------------------------------


def settled(state: Conversation) -> Conversation:
    """What the description says about columns, put where they are, as soon as they are known."""
    data = state.data()
    marked = _mark_personal(state, data)
    for source in data.get("sources", ()):
        for table in source["tables"]:
            names = [column["name"] for column in table.get("columns", ())]
            for field, key in (("key", "key"), ("change_column", "change_column")):
                said = state.said(field)
                found = column_named(said, names) if said is not None else None
                if found is not None and not table.get(key):
                    table[key] = [found] if key == "key" else found
    rules = _rules(state, data)
    if rules:
        data["quality"] = [*(data.get("quality") or []), *rules]
    return state.with_requirements(data) if marked or rules or data != state.data() else state


def _mark_personal(state: Conversation, data: dict[str, Any]) -> bool:
    changed = False
    for said in () if _is_denied(state) else state.said("pii.columns") or ():
        for source in data.get("sources", ()):
            for table in source["tables"]:
                for column in table.get("columns", ()):
                    if said in column["name"].lower() and not column.get("pii"):
                        column["pii"] = changed = True
    return changed


def _rules(state: Conversation, data: dict[str, Any]) -> list[dict[str, Any]]:
    there = {(rule["check"], rule["table"], tuple(rule.get("columns", ()))) for rule in data.get("quality") or ()
             if isinstance(rule, dict)}  # fmt: skip
    found = []
    for check, more in (("positive", {"minimum": 0}), ("not_null", {}), ("unique", {})):
        kind = "range" if check == "positive" else check
        for said in state.all_said(f"quality.{check}"):
            for table, columns in clean_columns(data).items():
                column = column_named(said, columns)
                if column is not None and (kind, table, (column,)) not in there:
                    found.append({"check": kind, "table": table, "columns": [column], "severity": "critical", **more})
    return found


def clean_columns(data: dict[str, Any]) -> dict[str, list[str]]:
    """Columns of the clean tables, by the names that the design gives them."""
    return {
        f"stg_{plain_name(table['name'])}": [column["name"] for column in table.get("columns", ())]
        for source in data.get("sources", ()) if source["kind"] != SourceKind.SNOWMELT
        for table in source["tables"] if table.get("columns")
    }  # fmt: skip


def shown_findings(state: Conversation) -> list[tuple[str, str, str]]:
    """What was understood, for people: field, value, and the words that said it."""
    return [(finding.field, shown_value(finding.field, finding.value), finding.words) for finding in state.findings]


def shown_value(field: str, value: Any) -> str:
    if isinstance(value, dict):
        listed = f" ({', '.join(value['tables'])})" if value["tables"] else ""
        return f"{value['name'] or value['kind']}: {value['kind']}{listed}"
    if field == "columns":
        return f"{value[0]}: {value[1]}"
    if field == "rows":
        return f"{value[0]}: {value[1]:,}"
    if field in ("size", "volume.per_day"):
        return show_bytes(value)
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if field in ("latency", "lateness", "arrives", "retention", "replay.window"):
        return show_seconds(value) if value else "never"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)

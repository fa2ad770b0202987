"""Questions about what comes in: sources, tables, columns, keys, changes, deletes, lateness."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from snowmelt.design.conversation.answers import (
    column_named,
    columns_of,
    names_of_answer,
    seconds_of_answer,
    singular,
    yes_or_no,
)
from snowmelt.design.conversation.filling import begin
from snowmelt.design.conversation.state import Asked, Conversation, NotUnderstoodError, changed_table, tables_in
from snowmelt.design.conversation.table_topics import REFERENCES, TENANTS
from snowmelt.design.conversation.topic import Topic
from snowmelt.design.making.stages import plain_name
from snowmelt.design.requirements.model import Source, SourceKind, Table
from snowmelt.design.rules.known import DATABASES, FILES

_KINDS = tuple(kind.value for kind in SourceKind)


def _landed(state: Conversation) -> Iterator[tuple[Source, Table]]:
    """Tables that come from outside."""
    return ((source, table) for source, table in tables_in(state) if source.kind is not SourceKind.SNOWMELT)


def _id(source: Source, table: Table) -> str:
    return f"{source.name}.{table.name}"


def _table(state: Conversation, subject: str) -> tuple[Source, Table]:
    return next(pair for pair in tables_in(state) if _id(*pair) == subject)


# -- sources ----------------------------------------------------------------------------------------------------------


def _ask_sources(state: Conversation, _: str) -> Asked:
    refused = [text.partition(": ")[2] for text in state.all_said("unsupported") if text.startswith("source")]
    why = (
        f"{', '.join(refused)} can't be read here: export it as files, offer an API, or name another source."
        if refused
        else ""
    )
    text = "Where does the data come from? Say it like: our shop's PostgreSQL, tables orders and customers."
    return Asked("sources", text, _KINDS, None, why)


def _take_sources(state: Conversation, _: str, answer: str) -> dict[str, Any]:
    found = begin(f"from {answer}").requirements.sources
    if not found:
        raise NotUnderstoodError(f"I find no source in '{answer}'. Known are {', '.join(_KINDS)}.")
    data = state.data()
    data["sources"] = [source.model_dump(mode="json", exclude_none=True) for source in found]
    tables = state.said("tables")
    if tables and len(found) == 1 and not found[0].tables:
        data["sources"][0]["tables"] = [{"name": name} for name in tables]
    return data


_THINGS = {SourceKind.KAFKA: "topics", SourceKind.WEBHOOK: "kinds of events"}
_EXAMPLES = {
    "topics": "clicks and views", "files": "orders-*.csv", "tables": "orders and customers",
    "kinds of events": "payments and refunds",
}  # fmt: skip


def _ask_tables(state: Conversation, subject: str) -> Asked:
    source = next(item for item in state.requirements.sources if item.name == subject)
    what = _THINGS.get(source.kind, "files" if source.kind in FILES else "tables")
    example = _EXAMPLES[what]
    return Asked("tables", f"Which {what} of {subject}? Such as: {example}.")


def _take_tables(state: Conversation, subject: str, answer: str) -> dict[str, Any]:
    data = state.data()
    for source in data["sources"]:
        if source["name"] == subject:
            prefix = "public." if source["kind"] == SourceKind.POSTGRES else ""
            names = [name.replace(" ", "_") for name in names_of_answer(answer)]
            source["tables"] = [{"name": name if "." in name else f"{prefix}{name}"} for name in names]
    return data


# -- columns ----------------------------------------------------------------------------------------------------------


def _ask_columns(state: Conversation, subject: str) -> Asked:
    _, table = _table(state, subject)
    said = [
        name for name in (state.said("key"), state.said("change_column"), *(state.said("pii.columns") or ())) if name
    ]
    key = f"{singular(plain_name(table.name))}_id"
    proposal = ", ".join(dict.fromkeys(["id", *said])) if said else None
    text = (
        f"Which columns of {table.name} are needed? Such as: id, {key}, amount decimal, email, updated_at. "
        "Types that you leave out are taken from the names. Say `all` to keep documents as they come."
    )
    return Asked(
        "columns", text, (), proposal, "Only what is named is typed, checked and published; raw rows keep everything."
    )


def _take_columns(state: Conversation, subject: str, answer: str) -> dict[str, Any]:
    if answer.strip().lower() in ("all", "everything", "all of them", "*"):
        return state.data()
    columns = columns_of(answer)
    if state.requirements.pii is not None and not state.requirements.pii.present:
        # Somebody said that there is none: a name that says otherwise is asked about, and not decided here.
        columns = [{key: value for key, value in column.items() if key != "pii"} for column in columns]
    return changed_table(state.data(), subject, columns=columns)


# -- keys and changes -------------------------------------------------------------------------------------------------


def _proposed_key(table: Table) -> str | None:
    names = [column.name for column in table.columns]
    for name in ("id", f"{singular(plain_name(table.name))}_id", "uuid", f"{singular(plain_name(table.name))}_no"):
        if name in names:
            return name
    return None


def _ask_key(state: Conversation, subject: str) -> Asked:
    _, table = _table(state, subject)
    text = f"By which column (or columns) is a row of {table.name} known again? Say none if nothing identifies it."
    return Asked("key", text, (), _proposed_key(table) or "none", "A row that comes twice replaces itself by its key.")


def _take_key(state: Conversation, subject: str, answer: str) -> dict[str, Any]:
    if yes_or_no(answer) is False:
        return state.data()
    return changed_table(state.data(), subject, key=_columns_named(state, subject, answer))


def _columns_named(state: Conversation, subject: str, answer: str) -> list[str]:
    _, table = _table(state, subject)
    known = [column.name for column in table.columns]
    found = []
    for name in names_of_answer(answer):
        column = column_named(name, known) if known else name.replace(" ", "_")
        if column is None:
            raise NotUnderstoodError(f"{table.name} has no column '{name}': there are {', '.join(known)}.")
        found.append(column)
    return found


def _change_open(state: Conversation) -> Iterator[str]:
    for source, table in _landed(state):
        if (
            source.kind in (*DATABASES, SourceKind.API)
            and table.change_column is None
            and state.requirements.recipe != "cdc"
        ):
            yield _id(source, table)


def _ask_change(state: Conversation, subject: str) -> Asked:
    _, table = _table(state, subject)
    names = [column.name for column in table.columns]
    proposal = next((name for name in names if name.startswith(("updated", "modified", "changed", "last_"))), "none")
    text = f"Which column of {table.name} grows whenever a row changes (updated_at, say)? Say none if there is none."
    return Asked("changes", text, (), proposal, "Without one the whole table is read each time, or the database's log.")


def _take_change(state: Conversation, subject: str, answer: str) -> dict[str, Any]:
    if yes_or_no(answer) is False:
        return state.data()
    return changed_table(state.data(), subject, change_column=_columns_named(state, subject, answer)[0])


def _deletes_open(state: Conversation) -> Iterator[str]:
    for source in state.requirements.sources:
        databases = source.kind in (*DATABASES, SourceKind.API)
        if databases and source.tables and all(table.deletes is None for table in source.tables):
            yield source.name


def _ask_deletes(_: Conversation, subject: str) -> Asked:
    text = f"Are rows ever deleted in {subject}?"
    return Asked(
        "deletes",
        text,
        ("yes", "no"),
        "yes",
        "No change column tells of a row that is gone; the log does, or reading the whole.",
    )


def _take_deletes(state: Conversation, subject: str, answer: str) -> dict[str, Any]:
    said = yes_or_no(answer)
    if said is None:
        said = begin(answer).said("deletes")
    if said is None:
        raise NotUnderstoodError("Say yes or no: are rows deleted there?")
    data = state.data()
    for source in data["sources"]:
        if source["name"] == subject:
            for table in source["tables"]:
                table["deletes"] = said
    return data


# -- events -----------------------------------------------------------------------------------------------------------


def _events_open(state: Conversation) -> Iterator[str]:
    for source, table in _landed(state):
        known = {"event_id", "id_header"} & set(table.options)
        if source.kind is SourceKind.WEBHOOK and table.columns and not known:
            yield _id(source, table)


def _ask_event(state: Conversation, subject: str) -> Asked:
    _, table = _table(state, subject)
    names = [column.name for column in table.columns]
    proposal = next((name for name in names if name in ("event_id", "event", "delivery_id")), "id")
    text = f"By what is an event of {table.name} known when it is sent again? A field, or a header such as X-Delivery."
    return Asked("events", text, (), proposal, "A sender that got no answer sends the event again, with the same id.")


def _take_event(state: Conversation, subject: str, answer: str) -> dict[str, Any]:
    found = re.search(r"\b[A-Za-z0-9]+(?:-[A-Za-z0-9]+)+\b", answer)
    if found is not None:
        return changed_table(state.data(), subject, options={"id_header": found[0]})
    name = answer.strip().strip("`'\"")
    if not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", name):
        raise NotUnderstoodError(f"'{answer}' is neither a field nor a header: say id, data.id, or X-Delivery.")
    return changed_table(state.data(), subject, options={"event_id": name})


def _lateness_open(state: Conversation) -> Iterator[str]:
    given = state.requirements
    asked = (*DATABASES, SourceKind.API)
    watermark = any(source.kind in asked and table.change_column is not None for source, table in _landed(state))
    if given.lateness is None and state.said("lateness") is None and watermark:
        yield ""


def _ask_lateness(_: Conversation, __: str) -> Asked:
    text = "How much later than its change column says may a row be committed? Such as: never, 10 minutes, 2 days."
    return Asked("lateness", text, (), "never", "What is committed behind the highest value is not seen by its column.")


def _take_lateness(state: Conversation, _: str, answer: str) -> dict[str, Any]:
    data = state.data()
    seconds = seconds_of_answer(answer)
    if seconds is not None:
        data["lateness"] = seconds
    elif yes_or_no(answer) is not False and "time" not in answer:
        raise NotUnderstoodError(f"'{answer}' is not a length of time: say never, 10 minutes, or 2 days.")
    return data


TOPICS = (
    Topic("sources", lambda state: [] if state.requirements.sources else [""], _ask_sources, _take_sources),
    Topic(
        "tables", lambda state: [source.name for source in state.requirements.sources if not source.tables],
        _ask_tables, _take_tables, of_parts=True
    ),
    TENANTS,
    Topic(
        "columns", lambda state: [_id(*pair) for pair in _landed(state) if not pair[1].columns],
        _ask_columns, _take_columns, of_parts=True
    ),
    Topic(
        "key", lambda state: [_id(*pair) for pair in _landed(state) if not pair[1].key and pair[1].columns],
        _ask_key, _take_key, of_parts=True
    ),
    REFERENCES,
    Topic("events", _events_open, _ask_event, _take_event, of_parts=True),
    Topic("changes", _change_open, _ask_change, _take_change, of_parts=True),
    Topic("deletes", _deletes_open, _ask_deletes, _take_deletes, of_parts=True),
    Topic("lateness", _lateness_open, _ask_lateness, _take_lateness),
)  # fmt: skip

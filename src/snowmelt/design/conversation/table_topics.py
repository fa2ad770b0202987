"""Questions about what tables are to each other: the same table of many tenants, keys of other tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from snowmelt.design.conversation.answers import column_named, names_of_answer, singular, yes_or_no
from snowmelt.design.conversation.state import Asked, Conversation, NotUnderstoodError, changed_table, tables_in
from snowmelt.design.conversation.topic import Topic
from snowmelt.design.making.stages import plain_name
from snowmelt.design.rules.known import DATABASES

_RANGE = re.compile(r"(?P<stem>\w*?)(?P<first>\d+)\s*(?:to|until|\.\.+|-)\s*(?P=stem)(?P<last>\d+)", re.IGNORECASE)
_MOST = 10_000


# -- tenants ----------------------------------------------------------------------------------------------------------


def _tenants_open(state: Conversation) -> Iterator[str]:
    if state.said("tenants"):
        for source, table in tables_in(state):
            if source.kind in DATABASES and not table.tenants:
                yield f"{source.name}.{table.name}"


def _ask_tenants(state: Conversation, subject: str) -> Asked:
    table = next(table.name for source, table in tables_in(state) if f"{source.name}.{table.name}" == subject)
    text = f"Which schemas hold {table}? Such as: acme, globex; or tenant_001 to tenant_400. Say one if it is only one."
    why = "They become one table with a column `tenant`, which is part of its key."
    return Asked("tenants", text, (), None, why)


def _take_tenants(state: Conversation, subject: str, answer: str) -> dict[str, Any]:
    if answer.strip().lower() in ("one", "only one", "just one") or yes_or_no(answer) is False:
        return state.data()
    table = subject.rpartition(".")[2]
    return changed_table(state.data(), subject, name=f"{{tenant}}.{table}", tenants=schemas_of(answer))


def schemas_of(answer: str) -> list[str]:
    """`acme, globex`, `tenant_001 to tenant_400`: the names of schemas."""
    found: list[str] = []
    for name in names_of_answer(answer):
        span = _RANGE.fullmatch(name)
        if span is None:
            found.append(name)
            continue
        first, last = int(span["first"]), int(span["last"])
        if not 0 <= last - first < _MOST:
            raise NotUnderstoodError(f"'{name}' is no range of names: say tenant_001 to tenant_400.")
        width = len(span["first"])
        found += [f"{span['stem']}{number:0{width}}" for number in range(first, last + 1)]
    strange = [name for name in found if not re.fullmatch(r"\w[\w$-]*", name)]
    if strange or not found:
        raise NotUnderstoodError(f"'{', '.join(strange) or answer}' is no schema's name: say acme, globex.")
    return list(dict.fromkeys(found))


# -- references -------------------------------------------------------------------------------------------------------


def _references_open(state: Conversation) -> Iterator[str]:
    """A shape is made from references: asked where columns are known and there is another table to refer to."""
    known = list(tables_in(state))
    if state.requirements.shape is None or len(known) == 1:
        return
    for source, table in known:
        if table.columns and not table.references:
            yield f"{source.name}.{table.name}"


def _ask_references(state: Conversation, subject: str) -> Asked:
    own = next(table for source, table in tables_in(state) if f"{source.name}.{table.name}" == subject)
    others = {singular(plain_name(table.name)): table.name for _, table in tables_in(state) if table is not own}
    proposed = [
        f"{column.name}: {others[stem]}" for column in own.columns
        if (stem := re.sub(r"_(id|no|key)$", "", column.name.lower())) in others and stem != column.name.lower()
    ]  # fmt: skip
    text = f"Which columns of {own.name} hold the key of another table? Such as: customer_id: customers. Or none."
    return Asked("references", text, (), ", ".join(proposed) or "none", "Facts and dimensions follow from it.")


def _take_references(state: Conversation, subject: str, answer: str) -> dict[str, Any]:
    if ":" not in answer and yes_or_no(answer) is False:
        return state.data()
    own = next(table for source, table in tables_in(state) if f"{source.name}.{table.name}" == subject)
    others = [table.name for _, table in tables_in(state) if table is not own]
    found: dict[str, str] = {}
    for part in re.split(r",|;|\band\b", answer):
        said, _, there = re.sub(r"\s+(?:is|refers to|points to|of|->|to)\s+", ": ", part.strip()).partition(":")
        column = column_named(said, [column.name for column in own.columns])
        table = next((name for name in others if plain_name(name) == plain_name(there.strip())), None)
        if column is None or table is None:
            raise NotUnderstoodError(f"'{part.strip()}' names no column and table: say customer_id: {others[0]}.")
        found[column] = table
    return changed_table(state.data(), subject, references=found)


TENANTS = Topic("tenants", _tenants_open, _ask_tenants, _take_tenants, of_parts=True)
REFERENCES = Topic("references", _references_open, _ask_references, _take_references, of_parts=True)

"""The graph of everything a session may know of: nodes with how they stand, edges with what moves over them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sqlglot import exp

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName, split_name
from snowmelt.features.alerts.definitions import ALERT, AlertDefinition
from snowmelt.features.connectors.definitions import CONNECTOR, ConnectorPhase, ConnectorState
from snowmelt.features.data_products.definitions import DATA_PRODUCT, DataProductDefinition
from snowmelt.features.loading.definitions import STAGE
from snowmelt.features.streams.definitions import STREAM
from snowmelt.features.tasks.definitions import TASK, TaskDefinition
from snowmelt.runtime.session import Session
from snowmelt.serve.console.standing import DYNAMIC, Standing, word
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition

_OWN = frozenset(word(kind) for kind in (TASK, ALERT, CONNECTOR, DATA_PRODUCT))
"""Kinds whose names are no names of relations."""
_ON_DEMAND = frozenset({word(ObjectKind.VIEW), word(STAGE)})
"""Shown only where an edge leads to or from them."""
_SHOWN = _OWN | _ON_DEMAND | {word(ObjectKind.TABLE), word(STREAM), DYNAMIC}
Node = dict[str, Any]


def described(standing: Standing, session: Session) -> dict[str, Any]:
    nodes: dict[str, Node] = {}
    for item in standing.objects:
        if standing.kind_of(item) in _SHOWN:
            node = _node(standing, item)
            nodes[node["id"]] = node
    edges: dict[tuple[str, str], dict[str, Any]] = {}

    def connect(source: str, target: str, kind: str) -> None:
        if source != target and source in nodes and target in nodes:
            edges.setdefault((source, target), {"source": source, "target": target, "kind": kind})

    for edge in _lineage(session):
        source, target = _end(nodes, edge["source"], edge["target"]), _end(nodes, edge["target"], edge["target"])
        through = _through(edge["process"])
        if through is not None and through in nodes:
            connect(source, through, edge["process"]["type"])
            connect(through, target, edge["process"]["type"])
        else:
            connect(source, target, edge["process"]["type"])
    for item in standing.objects:
        for source, target in _of_definition(item):
            connect(source, target, str(item.kind))
    used = {end for pair in edges for end in pair}
    kept = [node for node in nodes.values() if node["kind"] not in _ON_DEMAND or node["id"] in used]
    return {"now": session.account.clock.now(), "nodes": kept, "edges": list(edges.values())}


def _lineage(session: Session) -> list[dict[str, Any]]:
    try:
        text = session.execute("SELECT SYSTEM$LINEAGE_GRAPH()").rows()[0][0]
    except SnowmeltError:
        return []
    found: list[dict[str, Any]] = json.loads(text)["edges"]
    return found


def _end(nodes: dict[str, Node], end: dict[str, str], target: dict[str, str]) -> str:
    """The node of an edge's end. What is outside of the catalog gets one when it is first met."""
    if end["domain"] == "EXTERNAL":
        node = _outside("SOURCE", f"EXTERNAL:{end['object']}", (None, None, end["object"].rpartition(".")[2]), end)
    elif end["domain"] == "CHANNEL":
        # A channel belongs to a table: others in the schema may have one of the same name.
        into, channel = (
            split_name(target["object"]) or (target["object"],),
            split_name(end["object"]) or (None, None, ""),
        )
        node = _outside("CHANNEL", f"CHANNEL:{'.'.join(into)}.{channel[-1]}", channel, end)
    else:
        return _relation(end["object"])
    id: str = node["id"]
    nodes.setdefault(id, node)
    return id


def _outside(kind: str, id: str, name: tuple[str | None, ...], end: dict[str, str]) -> Node:
    database, schema, short = name
    return {
        "id": id, "kind": kind, "name": short, "database": database, "schema": schema, "full_name": end["object"],
        "state": "ok",
    }  # fmt: skip


def _relation(name: str) -> str:
    return f"R:{name}"


def _through(process: dict[str, Any]) -> str | None:
    """The task or connector that an edge goes through; what defines its own target is no node on the way."""
    if process["type"] in (word(TASK), word(CONNECTOR)) and process["name"]:
        return f"{process['type']}:{process['name']}"
    return None


def _id(kind: str, name: ObjectName) -> str:
    return f"{kind}:{name}" if kind in _OWN else _relation(str(name))


def _of_definition(item: CatalogObject) -> Iterable[tuple[str, str]]:
    """Edges that are no lineage: what a task follows, what a product consists of, what an alert looks at."""
    definition, home = item.definition, item.name
    if isinstance(definition, AlertDefinition):
        for table in _tables_in(definition):
            parts = [*(home.database, home.schema)[: 3 - len(table)], *table]
            yield _relation(str(ObjectName(*parts))), _id(word(ALERT), home)
    elif isinstance(definition, TaskDefinition):
        for name in definition.predecessors:
            yield _id(word(TASK), ObjectName(home.database, home.schema, name)), _id(word(TASK), home)
    elif isinstance(definition, DataProductDefinition):
        for part in definition.objects:
            yield _relation(str(part)), _id(word(DATA_PRODUCT), home)


def _tables_in(definition: AlertDefinition) -> Iterable[list[str]]:
    try:
        tree = parse_snowflake(definition.task.exists or "SELECT 1")
    except SnowmeltError:
        return
    for named in tree.find_all(exp.Table):
        if isinstance(named.this, exp.Identifier) and 1 <= len(named.parts) <= 3:
            yield [part.name if part.args.get("quoted") else part.name.upper() for part in named.parts]


def _node(standing: Standing, item: CatalogObject) -> Node:
    kind = standing.kind_of(item)
    node: Node = {
        "id": _id(kind, item.name), "kind": kind, "database": item.name.database, "schema": item.name.schema,
        "name": item.name.name, "full_name": str(item.name), "rows": standing.rows.get(item.id), "state": "ok",
    }  # fmt: skip
    fresh = standing.freshness.get(item.id)
    if fresh is not None:
        node |= {"behind": fresh.behind, "limit": fresh.limit, "updated_at": fresh.updated_at}
        if fresh.limit is not None and fresh.status.value == "BREACHED":
            node["state"] = "late"
    if isinstance(item.definition, TableDefinition) and item.definition.dynamic is not None:
        node |= _refreshed(standing, item)
    task = standing.tasks.get(item.id)
    if task is not None and not task.started:
        node["state"] = "suspended"
    connector = standing.connectors.get(item.id)
    if connector is not None:
        node |= _captured(connector)
    run = standing.runs.get(item.id)
    if run is not None:
        node |= {"last_run": run.state.value, "last_run_at": run.completed_at}
        if standing.failed_run(item.id) is not None:
            node |= {"state": "failed", "message": run.error_message}
    return node


def _captured(connector: ConnectorState) -> Node:
    if connector.phase in (ConnectorPhase.FAILED, ConnectorPhase.RETRYING):
        return {"state": "failed", "message": connector.error}
    return {"state": "suspended" if connector.phase is ConnectorPhase.PAUSED else "ok"}


def _refreshed(standing: Standing, item: CatalogObject) -> Node:
    found: Node = {}
    dynamic, last = standing.dynamic.get(item.id), standing.last.get(item.id)
    if dynamic is not None:
        found["mode"] = dynamic.refresh_mode.value
        if dynamic.suspended:
            found |= {"state": "suspended", "message": dynamic.reason_message}
    if last is not None:
        found |= {
            "action": last.action.value if last.action is not None else None,
            "inserted": last.statistics.get("numInsertedRows", 0),
            "deleted": last.statistics.get("numDeletedRows", 0),
            "refreshed_at": last.ended_at or last.data_timestamp,
        }
        if last.state.value in ("FAILED", "UPSTREAM_FAILED") and found.get("state") != "suspended":
            found |= {"state": "failed", "message": last.state_message}
    if item.id in standing.executing:
        found["running"] = True
    return found

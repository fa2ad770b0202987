"""Looking before a backfill: what is there, what would change, and what that takes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from snowmelt.backfill import errors as backfill_errors
from snowmelt.backfill.model import AffectedObjects, BackfillEstimate, BackfillPlan, BackfillRequest, StreamPolicy
from snowmelt.backfill.ranges import Bound, RangeColumn, as_bound, cut_at, cut_keys, even_edges
from snowmelt.backfill.rates import BackfillRate
from snowmelt.core import errors
from snowmelt.core.names import ObjectName, literal, quote, split_name
from snowmelt.core.types import parse_type
from snowmelt.engine.pools import WAREHOUSE_SIZES
from snowmelt.playbooks.claims import Execute
from snowmelt.playbooks.expecting import column as column_of
from snowmelt.playbooks.objects import shown
from snowmelt.playbooks.starting import home_of, new_run_id
from snowmelt.sql.statements.base import Query
from snowmelt.sql.statements.parse import parse_statement

_SOURCE_ALIAS = "backfill_source"


class BackfillPlanner:
    def __init__(self, execute: Execute, saved_before: Sequence[str]) -> None:
        self._execute = execute
        self._saved_before = frozenset(saved_before)
        """Clones of earlier backfills, which are downstream of their table only by name."""

    def plan(self, request: BackfillRequest) -> tuple[BackfillPlan, AffectedObjects]:
        """Raises for what can't be done. Nothing is changed."""
        home = home_of(self._execute)
        table = self._target(request.table, (home.database, home.schema))
        columns = self._columns(table)
        ranged = self._range_column(request.column, columns)
        source, pinned = self._source(request, (home.database, home.schema))
        within, chunks = self._range(request, ranged, source)
        downstream = self.downstream(table)
        if downstream.streams and request.streams is StreamPolicy.REFUSE:
            raise backfill_errors.backfill(
                f"Streams see the replaced rows of {table} as deletes and inserts: {', '.join(downstream.streams)}. "
                "A consumer that adds up inserts alone would count them twice.",
                hint="Add --streams follow if every consumer of these streams applies deletes, too.",
            )
        run = new_run_id("backfill")
        saved = ObjectName(table.database, table.schema, f"{table.name}_BEFORE_{run}".upper().replace("-", "_"))
        parts = (table.database, table.schema, table.name)
        leaves = downstream.leaves if request.refresh else ()
        return BackfillPlan(
            run, parts, tuple(columns), source, pinned, within, tuple(chunks), str(saved), leaves
        ), downstream

    def _target(self, written: str, home: tuple[str, str]) -> ObjectName:
        name = _full(written, home)
        if shown(self._execute, "DYNAMIC TABLE", str(name)) is not None:
            raise backfill_errors.backfill(
                f"{name} is a dynamic table: its rows always come from its query.",
                hint="Backfill the tables it reads; its next refresh brings the rows in.",
            )
        if shown(self._execute, "TABLE", str(name)) is None:
            raise errors.not_found("Table", str(name))
        return name

    def _columns(self, table: ObjectName) -> dict[str, str]:
        """The columns of the target with their types."""
        result = self._execute(f"DESCRIBE TABLE {table}")
        names, types = column_of(result, "name"), column_of(result, "type")
        return {str(name): str(type_) for name, type_ in zip(names, types, strict=True)}

    def _range_column(self, written: str, columns: dict[str, str]) -> RangeColumn:
        parts = split_name(written)
        if parts is None or len(parts) != 1 or parts[0] not in columns:
            raise backfill_errors.backfill(f"'{written}' is not a column of the table, which has {', '.join(columns)}.")
        type_ = parse_type(columns[parts[0]])
        assert type_ is not None
        return RangeColumn(parts[0], type_)

    def _source(self, request: BackfillRequest, home: tuple[str, str]) -> tuple[str, str | None]:
        """What stands in FROM, and the moment as of which it is read."""
        if request.query is not None:
            text = request.query.strip().removesuffix(";")
            if not isinstance(parse_statement(text), Query):
                raise backfill_errors.backfill("The file of --query must hold one SELECT.")
            if request.at is not None:
                raise backfill_errors.backfill(
                    "--at works only with --from. In a --query, write AT (…) behind the table."
                )
            return f"(\n{text}\n) AS {_SOURCE_ALIAS}", None
        if request.source is None:
            raise backfill_errors.backfill("The source of the rows is missing: give --from TABLE or --query FILE.")
        name = _full(request.source, home)
        if shown(self._execute, "VIEW", str(name)) is not None and request.at is None:
            return str(name), None
        moment = request.at or str(
            self._value("SELECT TO_VARCHAR(CURRENT_TIMESTAMP(), 'YYYY-MM-DD HH24:MI:SS.FF6 TZHTZM')")
        )
        return f"{name} AT (TIMESTAMP => {literal(moment)}::TIMESTAMP_TZ)", moment

    def _range(self, request: BackfillRequest, column: RangeColumn, source: str) -> tuple[str, list[str]]:
        """The condition of the whole range, and those of its chunks."""
        if request.keys:
            if request.start is not None or request.end is not None:
                raise backfill_errors.backfill("Give either --keys, or --start and --end, but not both.")
            chunks = cut_keys(column, request.keys)
            return " OR ".join(chunks), chunks
        if request.start is None or request.end is None:
            raise backfill_errors.backfill("The range is missing: give --start and --end, or --keys.")
        low, high = self._bound(column, request.start), self._bound(column, request.end)
        if not low < high:  # type: ignore[operator]
            raise backfill_errors.backfill("The range is empty: its start must be before its end.")
        edges = (
            even_edges(column, low, high, request.chunk) if request.chunk is not None
            else self._edges(column, low, high, source, request.chunk_rows)
        )  # fmt: skip
        return column.between(low, high), cut_at(column, low, high, edges)

    def _bound(self, column: RangeColumn, text: str) -> Bound:
        """Comparable with the others, and with what the column holds: an instant has its time zone."""
        found = column.bound(text)
        if column.is_instant and isinstance(found, datetime) and found.tzinfo is None:
            return as_bound(column, self._value(f"SELECT {column.sql(found)}"))
        return found

    def _edges(self, column: RangeColumn, low: Bound, high: Bound, source: str, rows: int) -> list[Bound]:
        """Values between which the source has about so many rows; equal values are never parted."""
        condition = column.between(low, high)
        if int(str(self._value(f"SELECT COUNT(*) FROM {source} WHERE {condition}"))) <= rows:
            return []
        name = quote(column.name)
        numbered = (
            f"SELECT {name} AS EDGE, ROW_NUMBER() OVER (ORDER BY {name}) AS PLACE FROM {source} WHERE {condition}"
        )
        found = self._execute(f"SELECT DISTINCT EDGE FROM ({numbered}) WHERE MOD(PLACE, {rows}) = 0 ORDER BY EDGE")
        return [as_bound(column, row[0]) for row in found.rows()]

    def downstream(self, table: ObjectName) -> AffectedObjects:
        found = json.loads(str(self._value(f"SELECT SYSTEM$LINEAGE({literal(str(table))}, 'DOWNSTREAM')")))
        domains: dict[str, str] = {}
        read_by_dynamic: set[str] = set()
        for edge in found["edges"]:
            source, target = edge["source"]["object"], edge["target"]
            if source in self._saved_before or target["object"] in self._saved_before:
                continue
            domains[target["object"]] = target["domain"]
            if target["domain"] == "DYNAMIC TABLE":
                read_by_dynamic.add(source)
        names = {
            domain: tuple(sorted(name for name, found_domain in domains.items() if found_domain == domain))
            for domain in ("DYNAMIC TABLE", "VIEW", "STREAM", "TABLE")
        }
        leaves = tuple(name for name in names["DYNAMIC TABLE"] if name not in read_by_dynamic)
        return AffectedObjects(names["DYNAMIC TABLE"], leaves, names["VIEW"], names["STREAM"], names["TABLE"])

    def estimate(
        self, plan: BackfillPlan, downstream: AffectedObjects, rate: BackfillRate, credit_price: float
    ) -> BackfillEstimate:
        rows_now = int(str(self._value(f"SELECT COUNT(*) FROM {plan.name} WHERE {plan.within}")))
        # Named columns, so that one that the source lacks is found here.
        rows = f"SELECT {plan.listed} FROM {plan.source} WHERE {plan.within}"
        rows_then = int(str(self._value(f"SELECT COUNT(*) FROM ({rows})")))
        seconds = rate.seconds(rows_now + rows_then, len(plan.chunks))
        refresh_seconds = sum(self._refresh_seconds(name) for name in downstream.dynamic_tables) if plan.leaves else 0.0
        credits = (seconds + refresh_seconds) / 3600 * self._credits_per_hour()
        return BackfillEstimate(
            rows_now, rows_then, len(plan.chunks), seconds, refresh_seconds, credits, credits * credit_price,
            rate.basis, downstream,
        )  # fmt: skip

    def _refresh_seconds(self, name: str) -> float:
        """How long the refreshes of a dynamic table took lately."""
        result = self._execute(
            "SELECT AVG(TIMESTAMPDIFF('MILLISECOND', REFRESH_START_TIME, REFRESH_END_TIME)) FROM "
            f"TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY(NAME => {literal(name)}, RESULT_LIMIT => 20)) "
            "WHERE STATE = 'SUCCEEDED'"
        )
        value = result.rows()[0][0]
        return float(value) / 1000 if value is not None else 0.0

    def _credits_per_hour(self) -> int:
        name = self._value("SELECT CURRENT_WAREHOUSE()")
        warehouse = shown(self._execute, "WAREHOUSE", quote(str(name))) if name is not None else None
        return WAREHOUSE_SIZES.get(str(warehouse["size"]), 1) if warehouse is not None else 1

    def _value(self, query: str) -> object:
        value: object = self._execute(query).rows()[0][0]
        return value


def _full(written: str, home: tuple[str, str]) -> ObjectName:
    parts = split_name(written)
    if parts is None or len(parts) > 3:
        raise backfill_errors.backfill(f"'{written}' is not the name of a table.")
    return ObjectName(*(*home, *parts)[-3:])

"""Facts from what answers requests: an API, by its first page; a topic, by its first messages and its offsets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import httpx

from snowmelt.design.looking.columns import table_of_sample
from snowmelt.design.requirements.model import Table
from snowmelt.extract_load.endpoints import Endpoint
from snowmelt.extract_load.making import make_extractor
from snowmelt.extract_load.records import Record, Rows
from snowmelt.extract_load.sources.kafka import KafkaExtractor
from snowmelt.extract_load.sources.rest import RestExtractor

_MESSAGES = 1_000
_TOTALS = ("total", "total_count", "totalCount", "count", "total_results")
_POLICY = re.compile(r"(?:^|;)\s*(?:q=)?(\d+)\s*;\s*(?:.*;\s*)?w=(\d+)")
"""`100;w=60`, or `"default";q=100;w=60`."""


@dataclass(frozen=True, slots=True)
class Seen:
    table: Table
    requests_per_second: float | None = None
    """What the server says it allows."""
    limit: str = ""
    """In its own words."""


def look_at_api(endpoint: Endpoint, table: Table) -> Seen:
    """The table behind an address of an API, seen by one request, however many pages there are."""
    reader = _reader(endpoint, table)
    assert isinstance(reader, RestExtractor)
    records, answer = reader.first_page()
    rows = _total(answer) or (len(records) if answer.links.get("next") is None and _is_all(table) else None)
    seen = table_of_sample(table.name, Rows(records), rows=rows)
    return Seen(seen, *_allowed(answer.headers))


def look_at_topic(endpoint: Endpoint, table: Table) -> Table:
    """A deletion is a message without a value; how fast messages come is that of the last hour."""
    reader = _reader(endpoint, table, batch_rows=_MESSAGES)
    assert isinstance(reader, KafkaExtractor)
    count, per_second = reader.measure()
    records = _first(reader.extract(None)) if count else []
    kept = [record for record in records if not record.get("_deleted")]
    seen = table_of_sample(table.name, Rows(kept), rows=count, changes_per_second=round(per_second, 4))
    return seen.model_copy(update={"deletes": True}) if len(kept) < len(records) else seen


def _reader(endpoint: Endpoint, table: Table, **options: Any) -> Any:
    return make_extractor(
        endpoint, table.name, key=table.key, change_column=table.change_column, options={**table.options, **options}
    )


def _first(batches: Iterable[Any]) -> list[Record]:
    return [record for batch in islice(batches, 1) for record in batch.records]


def _is_all(table: Table) -> bool:
    return str(table.options.get("paging", "none")) == "none"


def _total(answer: httpx.Response) -> int | None:
    """How many records there are in all, where the answer says it."""
    for name in ("X-Total-Count", "X-Total"):
        if str(answer.headers.get(name, "")).isdigit():
            return int(answer.headers[name])
    document = answer.json()
    parts = [document, document.get("meta")] if isinstance(document, dict) else []
    found = (part.get(name) for part in parts if isinstance(part, dict) for name in _TOTALS)
    return next((value for value in found if isinstance(value, int) and not isinstance(value, bool)), None)


def _allowed(headers: Mapping[str, str]) -> tuple[float | None, str]:
    """The rate limit as `RateLimit-Policy` has it; older headers say how many, and not in what time."""
    policy = headers.get("RateLimit-Policy", "")
    found = _POLICY.search(policy)
    if found is not None and int(found[2]):
        return int(found[1]) / int(found[2]), f"{found[1]} requests in {found[2]} s"
    older = headers.get("X-RateLimit-Limit") or headers.get("RateLimit-Limit") or ""
    return None, f"{older} requests in a time that it does not say" if older else ""

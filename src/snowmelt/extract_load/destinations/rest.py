"""Records to a REST API, one request each: what is new or another since it was sent, and nothing twice.

An API can't commit our place, so what was sent is kept here, in a table: which version of which record, with a digest
of what it was. The place commits with these rows. Between two commits a process may be killed: what it sent since
the last one is sent again then, with the same idempotency key, by which the API knows it.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from time import sleep as wait
from typing import Any, Protocol
from urllib.parse import quote

import httpx

from snowmelt.core import errors
from snowmelt.core.names import literal
from snowmelt.extract_load.destinations.base import Loader
from snowmelt.extract_load.destinations.snowmelt import Committing, DeadLetterLoader
from snowmelt.extract_load.problems import SourceRefusedError, shown
from snowmelt.extract_load.records import Batch, Record, Rejected
from snowmelt.extract_load.sources.ordering import key_position
from snowmelt.extract_load.sources.requesting import Requester
from snowmelt.ingest.channels.ports import HasChannelDoor

SENT_DDL = (
    "(flow VARCHAR NOT NULL, record_key VARCHAR NOT NULL, version NUMBER NOT NULL, digest VARCHAR NOT NULL, "
    "status NUMBER NOT NULL, run_id VARCHAR NOT NULL, sent_at TIMESTAMP_LTZ NOT NULL)"
)
_SECONDS = 60.0
_COMMIT_RECORDS, _COMMIT_SECONDS = 100, 5.0
"""What may have to be sent again after a crash."""
_REJECTING = frozenset({400, 409, 413, 422})
"""The API says no to this record, and not to us."""
_ABSENT = frozenset({404, 410})
_FIELD = re.compile(r"\{(\w+)\}")
_TEXT = 200
"""Characters of an answer that are kept."""


class Connects(HasChannelDoor, Protocol):
    """What a connection to Snowmelt has."""

    def execute(self, sql: str) -> Any: ...


@dataclass(frozen=True, slots=True)
class _Version:
    number: int
    digest: str


class RestLoader(Loader):
    """`address/path`, where `{field}` in the path is the record's; without a path, the table's name.

    A record that the API rejects is a dead letter, and is not sent again before it is another; without a table for
    them it stops the run. Records that are gone are not told of.
    """

    def __init__(
        self, connection: Connects, address: str, table: str, flow: str, run_id: str, *, key: Sequence[str],
        path: str | None = None, method: str = "POST", auth: httpx.Auth | None = None,
        headers: Mapping[str, str] | None = None, idempotency_header: str = "Idempotency-Key",
        requests_per_second: float | None = None, attempts: int = 5, dead_letters: DeadLetterLoader | None = None,
        sent: str = "sent_records", sleep: Callable[[float], None] = wait,
    ) -> None:  # fmt: skip
        if not key:
            raise errors.configuration(f"{table} has no key.", hint="Set key to the fields that identify a record.")
        self.table, self.flow, self.run_id, self.key = table, flow, run_id, tuple(key)
        self.address, self.path, self.method = address.rstrip("/"), (path or table).lstrip("/"), method
        self.idempotency_header, self.dead_letters, self.sent = idempotency_header, dead_letters, sent
        self._client = httpx.Client(auth=auth, headers=dict(headers or {}), timeout=_SECONDS, follow_redirects=False)
        self._requester = Requester(self._client, requests_per_second, attempts, sleep)
        connection.execute(f"CREATE TABLE IF NOT EXISTS {sent} {SENT_DDL}")
        self._target = Committing(connection, sent, flow)
        self._commits, self._place = _read(self._target.token())
        self._known = self._versions(connection)
        self._pending: list[dict[str, Any]] = []
        self._committed_at = time.monotonic()

    def place(self) -> str | None:
        return self._place

    def load(self, batch: Batch, loaded_at: str) -> int:
        """How many were sent; those that the API has already are not."""
        if batch.place == self._place:
            return 0
        count = 0
        try:
            for record in batch.records:
                count += self._send(record, batch.origin, loaded_at)
        except BaseException:
            # What the API has taken is known, whatever ends the run.
            self._commit(self._place)
            raise
        self._commit(batch.place)
        return count

    def _send(self, record: Record, origin: str, loaded_at: str) -> bool:
        name = json.dumps([record.get(column) for column in self.key])
        digest = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
        before = self._known.get(name, _Version(0, ""))
        if before.digest == digest:
            return False
        version = _Version(before.number + 1, digest)
        answer = self._requester.send(
            self.method, self._where(record), body=record,
            headers={self.idempotency_header: self._identity(name, version)}, take=self._rejecting,
        )  # fmt: skip
        if not answer.is_success:
            letter = Rejected(_reason(answer), record, key_position(record, self.key))
            self._reject(answer, letter, origin, loaded_at)
        self._known[name] = version
        self._pending.append({
            "flow": self.flow, "record_key": name, "version": version.number, "digest": digest,
            "status": answer.status_code, "run_id": self.run_id, "sent_at": datetime.now(UTC).isoformat(),
        })  # fmt: skip
        if len(self._pending) >= _COMMIT_RECORDS or time.monotonic() - self._committed_at > _COMMIT_SECONDS:
            self._commit(self._place)
        return answer.is_success

    def _where(self, record: Record) -> str:
        def of(found: re.Match[str]) -> str:
            value = record.get(found.group(1))
            if value in (None, ""):
                raise errors.configuration(
                    f"The path {self.path} names {found.group()}, but a record of {self.table} has no such field.",
                    hint="Name fields as the destination calls them.",
                )
            return quote(str(value), safe="")

        return f"{self.address}/{_FIELD.sub(of, self.path)}"

    @property
    def _rejecting(self) -> frozenset[int]:
        """Where the path names the record, it may be one that the API does not have."""
        return _REJECTING | _ABSENT if _FIELD.search(self.path) else _REJECTING

    def _identity(self, name: str, version: _Version) -> str:
        """The same for the same version of the same record, however often it is sent."""
        text = json.dumps([self.flow, name, version.number, version.digest])
        return hashlib.sha256(text.encode()).hexdigest()[:40]

    def _reject(self, answer: httpx.Response, letter: Rejected, origin: str, loaded_at: str) -> None:
        if self.dead_letters is None:
            raise SourceRefusedError(
                shown(str(answer.request.url)), f"{letter.position}: {letter.reason}",
                "Fix the record, or send rejected records to the dead letters: on_reject: reject_row.",
            )  # fmt: skip
        self.dead_letters.keep([letter], origin, loaded_at)

    def _commit(self, place: str | None) -> None:
        if not self._pending and place == self._place:
            return
        token = json.dumps({"commit": self._commits + 1, "place": place})
        self._target.commit(self._pending, token)
        self._commits, self._place, self._pending = self._commits + 1, place, []
        self._committed_at = time.monotonic()

    def _versions(self, connection: Connects) -> dict[str, _Version]:
        """The newest of each record, as they were sent."""
        rows = connection.execute(
            f"SELECT record_key, version, digest FROM {self.sent} WHERE flow = {literal(self.flow)} "
            "QUALIFY ROW_NUMBER() OVER (PARTITION BY record_key ORDER BY version DESC) = 1"
        ).fetchall()
        return {str(name): _Version(int(number), str(digest)) for name, number, digest in rows}

    def close(self) -> None:
        self._client.close()
        self._target.close()


def _read(token: str | None) -> tuple[int, str | None]:
    if token is None:
        return 0, None
    known = json.loads(token)
    return int(known["commit"]), known["place"]


def _reason(answer: httpx.Response) -> str:
    said = " ".join(answer.text.split())[:_TEXT]
    return f"the sink answers {answer.status_code}" + (f": {said}" if said else "")

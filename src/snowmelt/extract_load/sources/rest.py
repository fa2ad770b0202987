"""Records of a REST API that answers in JSON: page by page, by a change column or as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import sleep as wait
from typing import Any
from urllib.parse import urlsplit

import httpx

from snowmelt.extract_load.options import COUNT, LOGIN, PAIRS, RATE, TEXT, Known, one_of
from snowmelt.extract_load.problems import SourceRefusedError, shown
from snowmelt.extract_load.records import Batch, Record, Rejected
from snowmelt.extract_load.sources.base import BATCH_ROWS, Extractor, SourceDescription, TableToRead
from snowmelt.extract_load.sources.formats import as_record
from snowmelt.extract_load.sources.ordering import changed_batches, parts, read_place, whole_batches
from snowmelt.extract_load.sources.paging import WAYS, NoPaging, Page, Paging, at_path, paging_of
from snowmelt.extract_load.sources.requesting import Requester, auth_of

_SECONDS = 60.0


class RestExtractor(Extractor):
    """What `address/path` gives. All pages are read before the first batch, so that the order is ours.

    `records`: the path of the array in the answer; without it the answer is the array, or has exactly one.
    `change_column`: what grows when a record changes; `since_parameter` asks for those from its last value on, and
    without it everything is asked for and what is known is left out. Without a change column the whole comes,
    whenever anything in it is another.
    """

    def __init__(
        self, address: str, path: str, *, paging: Paging | None = None, auth: httpx.Auth | None = None,
        records: str | None = None, key: Sequence[str] = (), change_column: str | None = None,
        since_parameter: str | None = None, parameters: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None, requests_per_second: float | None = None, attempts: int = 5,
        batch_rows: int = BATCH_ROWS, sleep: Callable[[float], None] = wait,
    ) -> None:  # fmt: skip
        self.address = f"{address.rstrip('/')}/{path.lstrip('/')}" if path else address
        self.path, self.records, self.key = path, records, tuple(key)
        self.paging, self.auth = paging or NoPaging(), auth
        self.change_column, self.since_parameter = change_column, since_parameter
        self.parameters, self.headers = dict(parameters or {}), dict(headers or {})
        self.requests_per_second, self.attempts = requests_per_second, attempts
        self.batch_rows, self._sleep = batch_rows, sleep

    def extract(self, after: str | None) -> Iterator[Batch]:
        rejected: list[Rejected] = []
        if self.change_column is None:
            records = list(self._read({}, rejected))
            found = whole_batches(lambda: parts(records, self.batch_rows), after, self.path, self.key, rejected)
        else:
            at, _ = read_place(after)
            since = {self.since_parameter: str(at[0])} if self.since_parameter is not None and at is not None else {}
            records = list(self._read(since, rejected))
            found = changed_batches(
                records, after, self.path, key=self.key, change=self.change_column, size=self.batch_rows,
                rejected=rejected,
            )  # fmt: skip
        yield from found

    def first_page(self) -> tuple[list[Record], httpx.Response]:
        """What one request gives, and its answer: enough to see what records are like."""
        with self._client() as client:
            requester = Requester(client, self.requests_per_second, self.attempts, self._sleep)
            answer = self._answer(requester, self.paging.first(), {})
            made = [as_record(item, "") for item in self._items(self._document(answer))]
            return [item[1] for item in made if not isinstance(item, Rejected)], answer

    def _client(self) -> httpx.Client:
        return httpx.Client(auth=self.auth, headers=self.headers, timeout=_SECONDS, follow_redirects=False)

    def _read(self, since: dict[str, str], rejected: list[Rejected]) -> Iterator[Record]:
        with self._client() as client:
            requester = Requester(client, self.requests_per_second, self.attempts, self._sleep)
            page: Page | None = self.paging.first()
            number = 0
            while page is not None:
                number += 1
                answer = self._answer(requester, page, since)
                document = self._document(answer)
                items = self._items(document)
                for index, item in enumerate(items, start=1):
                    made = as_record(item, f"page {number}, record {index}")
                    if isinstance(made, Rejected):
                        rejected.append(made)
                    else:
                        yield made[1]
                page = self.paging.following(page, answer, document, len(items))

    def _answer(self, requester: Requester, page: Page, since: dict[str, str]) -> httpx.Response:
        if page.address is None:
            return requester.get(self.address, {**self.parameters, **since, **page.parameters})
        if urlsplit(page.address)[:2] != urlsplit(self.address)[:2]:
            raise SourceRefusedError(
                shown(self.address), f"its next page is at {shown(page.address)}",
                "Credentials are not sent to another server. If it is right, make it the connection's address.",
            )  # fmt: skip
        return requester.get(page.address, page.parameters)

    def _document(self, answer: httpx.Response) -> Any:
        try:
            return answer.json()
        except ValueError:
            kind = answer.headers.get("Content-Type", "nothing that is named")
            raise SourceRefusedError(shown(self.address), f"it answers {kind} instead of JSON", _PATH) from None

    def _items(self, document: Any) -> list[Any]:
        found = at_path(document, self.records) if self.records is not None else document
        if self.records is None and isinstance(document, dict):
            lists = [value for value in document.values() if isinstance(value, list)]
            found = lists[0] if len(lists) == 1 else None
        if not isinstance(found, list):
            raise SourceRefusedError(
                shown(self.address), "its answer has no array of records where the option records points", _PATH
            )
        return found


_PATH = "Set records in the table's options to where the array is in the answer: data.items, say."


def _read(table: TableToRead) -> Extractor:
    endpoint, options = table.endpoint, table.options
    rate = options.get("requests_per_second") or endpoint.option("requests_per_second")
    return RestExtractor(
        endpoint.where(), table.name, paging=paging_of(options), auth=auth_of(endpoint), records=options.get("records"),
        key=table.key, change_column=table.change_column, since_parameter=options.get("since_parameter"),
        parameters={str(name): str(value) for name, value in (options.get("parameters") or {}).items()},
        requests_per_second=float(rate) if rate else None, batch_rows=table.batch_rows,
    )  # fmt: skip


_OPTIONS: Known = {
    "batch_rows": COUNT, "paging": one_of(*WAYS), "page_size": COUNT, "page_parameter": TEXT, "size_parameter": TEXT,
    "cursor_path": TEXT, "cursor_parameter": TEXT, "records": TEXT, "since_parameter": TEXT, "parameters": PAIRS,
    "requests_per_second": RATE,
}  # fmt: skip
API = SourceDescription("api", _OPTIONS, LOGIN, _read, "https://host/v1")

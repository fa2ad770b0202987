"""APIs: every way of paging and logging in; servers that are slow, busy or strange; nothing secret is told."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load import (
    Extractor,
    LinkPaging,
    RestExtractor,
    SourceRefusedError,
    SourceUnavailableError,
    Whole,
    endpoint_of,
    infer_fields,
    make_extractor,
)
from tests.extract_load.web import Web

SECRET = "s3cr3t"


@pytest.fixture
def web() -> Iterator[Web]:
    made = Web()
    made.items = [{"id": number, "changed_at": f"2024-01-0{number}"} for number in range(1, 6)]
    yield made
    made.close()


def given(extractor: Extractor, after: str | None = None) -> list[int]:
    return [record["id"] for batch in extractor.extract(after) for record in batch.records]


def api(web: Web, path: str, options: dict[str, Any] | None = None, **entry: str) -> Extractor:
    endpoint = endpoint_of("web", {"kind": "api", "address": web.address, **entry}, {"SECRET": SECRET})
    return make_extractor(endpoint, path, key=["id"], options=options)


@pytest.mark.parametrize(
    ("path", "options", "requests"),
    [("orders", {}, 1), ("orders", {"paging": "page", "page_size": 2}, 3),
     ("orders", {"paging": "page", "page_size": 5}, 2),
     ("offset", {"paging": "offset", "page_size": 2, "records": "data.items"}, 3),
     ("cursor", {"paging": "cursor", "cursor_path": "meta.next"}, 3), ("next", {"paging": "next"}, 3),
     ("link", {"paging": "link"}, 3)],
)  # fmt: skip
def test_all_pages_come(path: str, options: dict[str, Any], requests: int, web: Web) -> None:
    assert given(api(web, path, options)) == [1, 2, 3, 4, 5]
    assert len(web.seen) == requests


def test_a_whole_comes_when_anything_is_another(web: Web) -> None:
    extractor = api(web, "orders", {"batch_rows": 2})
    batches = list(extractor.extract(None))
    assert [batch.whole for batch in batches] == [Whole(1, False), Whole(2, False), Whole(3, True)]
    assert given(extractor, batches[-1].place) == []
    assert given(extractor, batches[0].place) == [3, 4, 5], "cut off behind the first"
    web.items.pop()
    assert given(extractor, batches[-1].place) == [1, 2, 3, 4]
    web.items.clear()
    (empty,) = extractor.extract(batches[-1].place)
    assert (empty.records, empty.whole) == ([], Whole(1, True, 2)), "that nothing is left is news too"


@pytest.mark.parametrize(
    ("entry", "header", "value"),
    [({"auth": "bearer", "token": "${SECRET}"}, "authorization", f"Bearer {SECRET}"),
     ({"auth": "basic", "user": "u", "password": "${SECRET}"}, "authorization", "Basic dTpzM2NyM3Q="),
     ({"auth": "api_key", "name": "X-Key", "value": "${SECRET}"}, "x-key", SECRET)],
)  # fmt: skip
def test_whoever_asks_says_so(entry: dict[str, str], header: str, value: str, web: Web) -> None:
    web.allowed = lambda headers, _: headers.get(header) == value
    assert given(api(web, "orders", **entry)) == [1, 2, 3, 4, 5]
    with pytest.raises(SourceRefusedError, match="401") as refused:
        given(api(web, "orders"))
    assert "connections.yaml" in str(refused.value) and not refused.value.transient


def test_a_key_in_the_query_is_told_nowhere(web: Web) -> None:
    web.allowed = lambda _, parameters: parameters.get("key") == SECRET
    extractor = api(web, "orders", auth="api_key", name="key", value="${SECRET}", **{"in": "query"})
    assert given(extractor) == [1, 2, 3, 4, 5]
    web.trouble = [(404, {}, b"")]
    with pytest.raises(SourceRefusedError) as refused:
        given(extractor)
    assert SECRET not in str(refused.value) and SECRET not in repr(vars(extractor))


def test_a_busy_server_is_asked_again_when_it_says(web: Web) -> None:
    waited: list[float] = []
    extractor = RestExtractor(web.address, "orders", key=["id"], sleep=waited.append)
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=40), usegmt=True)
    web.trouble = [(429, {"Retry-After": "7"}, b""), (503, {"Retry-After": later}, b""), (502, {}, b"")]
    assert given(extractor) == [1, 2, 3, 4, 5]
    assert waited[0] == 7 and 20 < waited[1] <= 40 and 0 <= waited[2] <= 30
    web.trouble = [(429, {"Retry-After": "90000"}, b"")]
    with pytest.raises(SourceUnavailableError, match="asks for a pause of 90000 s"):
        given(extractor)
    web.trouble = [(500, {}, b"")] * 5
    with pytest.raises(SourceUnavailableError, match="500") as away:
        given(extractor)
    assert away.value.transient


def test_no_more_requests_than_allowed(web: Web) -> None:
    waited: list[float] = []
    extractor = RestExtractor(web.address, "link", paging=LinkPaging(), requests_per_second=0.5, sleep=waited.append)
    assert len(given(extractor)) == 5
    assert len(waited) == 2 and waited[0] == pytest.approx(2, abs=1) and waited[1] == pytest.approx(4, abs=1)


def test_credentials_do_not_go_to_another_server(web: Web) -> None:
    other = Web()
    try:
        web.trouble = [(200, {"Link": f'<{other.address}/link>; rel="next"'}, b"[]")]
        with pytest.raises(SourceRefusedError, match="next page"):
            given(api(web, "link", {"paging": "link"}, auth="bearer", token="${SECRET}"))
        web.trouble = [(302, {"Location": f"{other.address}/link"}, b"")]
        with pytest.raises(SourceRefusedError, match="302"):
            given(api(web, "link", auth="bearer", token="${SECRET}"))
        assert other.seen == []
    finally:
        other.close()


@pytest.mark.parametrize(
    ("answer", "problem"),
    [((200, {"Content-Type": "text/html"}, b"<p>"), "text/html instead of JSON"),
     ((200, {}, b'{"a": 1}'), "no array of records"), ((200, {}, b'{"a": [], "b": []}'), "no array of records")],
)  # fmt: skip
def test_an_answer_that_is_none_is_refused(answer: Any, problem: str, web: Web) -> None:
    web.trouble = [answer]
    with pytest.raises(SourceRefusedError, match=problem):
        given(api(web, "orders"))


def test_options_that_are_none_are_refused(web: Web) -> None:
    with pytest.raises(SnowmeltError, match="no option pagings"):
        api(web, "orders", {"pagings": "page"})
    with pytest.raises(SnowmeltError, match="paging must be one of none, page"):
        api(web, "orders", {"paging": "scroll"})
    with pytest.raises(SnowmeltError, match="page_size must be a whole number above 0"):
        api(web, "orders", {"page_size": "many"})
    with pytest.raises(SnowmeltError, match="needs token"):
        api(web, "orders", auth="bearer")


def test_columns_that_nobody_described_are_inferred() -> None:
    found = infer_fields([
        {"id": 1, "at": "2024-01-01T00:00:00Z", "day": "2024-01-01", "price": 1, "tags": ["a"], "mixed": 1, "text": ""},
        {"id": 2, "at": None, "day": "2024-01-02", "price": 1.5, "tags": [], "mixed": {}, "text": "2024-01-01"},
    ])  # fmt: skip
    assert {field.name: field.type for field in found} == {
        "id": "NUMBER(38,0)", "at": "TIMESTAMP_TZ", "day": "DATE", "price": "FLOAT", "tags": "ARRAY",
        "mixed": "VARIANT", "text": "VARCHAR",
    }  # fmt: skip

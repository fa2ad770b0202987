"""How an API gives its records page by page. Each way says which request comes next, from the answer to the last."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

import httpx

from snowmelt.extract_load.options import Options

Parameters = dict[str, str]


def at_path(document: Any, path: str) -> Any:
    """What stands at `a.b.c` in a document; None where there is nothing."""
    for name in path.split("."):
        document = document.get(name) if isinstance(document, dict) else None
    return document


@dataclass(frozen=True, slots=True)
class Page:
    """The next request: other parameters of the same address, or another address."""

    parameters: Parameters
    address: str | None = None


class Paging(ABC):
    @abstractmethod
    def first(self) -> Page: ...

    @abstractmethod
    def following(self, page: Page, answer: httpx.Response, document: Any, records: int) -> Page | None:
        """The next page; None behind the last one."""


class NoPaging(Paging):
    """One answer has everything."""

    def first(self) -> Page:
        return Page({})

    def following(self, page: Page, answer: httpx.Response, document: Any, records: int) -> Page | None:
        return None


@dataclass(frozen=True)
class PageNumberPaging(Paging):
    """`?page=1&per_page=100`, until a page is not full."""

    parameter: str = "page"
    size_parameter: str | None = "per_page"
    size: int = 100
    start: int = 1

    def first(self) -> Page:
        return self._page(self.start)

    def following(self, page: Page, answer: httpx.Response, document: Any, records: int) -> Page | None:
        """Whether a page is full is known only where its size was asked for; else the next may be empty."""
        full = self.size if self.size_parameter is not None else 1
        return self._page(int(page.parameters[self.parameter]) + 1) if records >= full else None

    def _page(self, number: int) -> Page:
        size = {self.size_parameter: str(self.size)} if self.size_parameter is not None else {}
        return Page({self.parameter: str(number), **size})


@dataclass(frozen=True)
class OffsetPaging(Paging):
    """`?offset=200&limit=100`, until a page is not full."""

    parameter: str = "offset"
    limit_parameter: str = "limit"
    limit: int = 100

    def first(self) -> Page:
        return self._page(0)

    def following(self, page: Page, answer: httpx.Response, document: Any, records: int) -> Page | None:
        return self._page(int(page.parameters[self.parameter]) + records) if records >= self.limit else None

    def _page(self, offset: int) -> Page:
        return Page({self.parameter: str(offset), self.limit_parameter: str(self.limit)})


@dataclass(frozen=True)
class CursorPaging(Paging):
    """The answer has a cursor at a path, which the next request sends; the last has none."""

    path: str = "next_cursor"
    parameter: str = "cursor"

    def first(self) -> Page:
        return Page({})

    def following(self, page: Page, answer: httpx.Response, document: Any, records: int) -> Page | None:
        cursor = at_path(document, self.path)
        return None if cursor in (None, "") else Page({self.parameter: str(cursor)})


@dataclass(frozen=True)
class LinkPaging(Paging):
    """The next address is in the header `Link: <…>; rel="next"` (RFC 8288), or in the document at a path."""

    path: str | None = None

    def first(self) -> Page:
        return Page({})

    def following(self, page: Page, answer: httpx.Response, document: Any, records: int) -> Page | None:
        link = at_path(document, self.path) if self.path is not None else answer.links.get("next", {}).get("url")
        return None if not link else Page({}, urljoin(str(answer.request.url), str(link)))


def _size(options: Options) -> int:
    return int(options.get("page_size", 100))


WAYS: Mapping[str, Callable[[Options], Paging]] = {
    "none": lambda _: NoPaging(),
    "page": lambda options: PageNumberPaging(
        options.get("page_parameter", "page"), options.get("size_parameter", "per_page"), _size(options)
    ),
    "offset": lambda options: OffsetPaging(
        options.get("page_parameter", "offset"), options.get("size_parameter", "limit"), _size(options)
    ),
    "cursor": lambda options: CursorPaging(
        options.get("cursor_path", "next_cursor"), options.get("cursor_parameter", "cursor")
    ),
    "link": lambda _: LinkPaging(),
    "next": lambda options: LinkPaging(options.get("cursor_path", "next")),
}
"""By the word of the option `paging`."""


def paging_of(options: Options) -> Paging:
    return WAYS[str(options.get("paging", "none"))](options)

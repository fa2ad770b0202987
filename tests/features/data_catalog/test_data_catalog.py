"""Search and the pages of the data catalog, from a snapshot."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from posixpath import dirname, join, normpath

from snowmelt.govern.data_catalog.model import (
    CatalogSnapshot,
    ColumnEntry,
    ConsumerEntry,
    ContractEntry,
    ProductEntry,
    RelationEntry,
)
from snowmelt.govern.data_catalog.pictures import layers, neighbourhood, picture
from snowmelt.govern.data_catalog.searching import search
from snowmelt.govern.data_catalog.site import pages


def relation(name: str, *columns: ColumnEntry, reads: tuple[str, ...] = (), **fields: str) -> RelationEntry:
    kind = fields.pop("kind", "TABLE")
    sources = tuple(f"D.S.{source}" for source in reads)
    return RelationEntry(database="D", schema_name="S", name=name, kind=kind, columns=columns, reads=sources, **fields)


AMOUNT = ColumnEntry(name="AMOUNT", type="NUMBER(10,2)", description="in the shop's <currency>")
EMAIL = ColumnEntry(name="EMAIL", type="VARCHAR(99)", classification="contact", tags=("pii",), nullable=False)
SNAPSHOT = CatalogSnapshot(
    taken_at=datetime(2024, 1, 31, 10, tzinfo=UTC),
    products=(
        ProductEntry(
            database="D", schema_name="S", name="ORDERS_PRODUCT", description="All orders & returns", domain="sales",
            product_owner="team@example.org", objects=("D.S.ORDERS", "D.S.GONE"), contract="D.S.ORDERS_C",
            freshness="5 minutes", availability_tier=1, consumers=("finance",), tags={"layer": "gold"},
            pii=("contact",), documentation="https://wiki.example.org/orders",
        ),
    ),
    contracts=(
        ContractEntry(
            database="D", schema_name="S", name="ORDERS_C", version="1.1.0", versions=("1.0.0", "1.1.0"),
            compatibility="BACKWARD", attached_to=("D.S.ORDERS",), document="kind: DataContract\n",
            consumers=(ConsumerEntry(name="FINANCE", contact="fin@example.org", columns=("AMOUNT",)),),
        ),
    ),
    relations=(
        relation("RAW", EMAIL),
        relation("ORDERS", AMOUNT, EMAIL, reads=("RAW",), kind="DYNAMIC TABLE", contract="D.S.ORDERS_C"),
        relation("DAILY", AMOUNT, reads=("ORDERS",), kind="VIEW", description="orders by day"),
        relation("odd name/1"),
    ),
)  # fmt: skip


def test_names_come_before_columns_before_descriptions() -> None:
    found = [(hit.kind, hit.item.name, hit.column) for hit in search(SNAPSHOT, "orders")]
    assert found == [
        ("DYNAMIC TABLE", "ORDERS", None), ("DATA PRODUCT", "ORDERS_PRODUCT", None), ("CONTRACT", "ORDERS_C", None),
        ("VIEW", "DAILY", None),
    ]  # fmt: skip


def test_columns_descriptions_and_classes_are_found() -> None:
    assert {(hit.item.name, hit.column) for hit in search(SNAPSHOT, "email")} == {("RAW", "EMAIL"), ("ORDERS", "EMAIL")}
    assert {hit.column for hit in search(SNAPSHOT, "CURRENCY")} == {"AMOUNT"}
    assert {hit.item.name for hit in search(SNAPSHOT, "gold")} == {"ORDERS_PRODUCT"}
    assert {hit.item.name for hit in search(SNAPSHOT, "pii")} == {"RAW", "ORDERS"}


def test_all_words_must_occur() -> None:
    assert {hit.item.name for hit in search(SNAPSHOT, "orders day")} == {"DAILY"}
    assert search(SNAPSHOT, "orders nonsense") == search(SNAPSHOT, "  ") == []


def test_a_snapshot_travels_as_json() -> None:
    assert CatalogSnapshot.from_json(SNAPSHOT.model_dump_json()) == SNAPSHOT


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if name in ("href", "src") and value is not None]
        if tag not in ("meta", "link", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Shapes of a picture have nothing inside."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_every_link_of_the_site_leads_somewhere_and_every_tag_is_closed() -> None:
    written = pages(SNAPSHOT)
    for path, text in written.items():
        if not path.endswith(".html"):
            continue
        page = _Links()
        page.feed(text.removeprefix("<!doctype html>"))
        assert page.open == [], path
        for link in page.links:
            if not link.startswith("https://"):
                assert normpath(join(dirname(path), link)) in written, f"{path} -> {link}"


def test_pages_show_what_is_known_and_escape_it() -> None:
    written = pages(SNAPSHOT)
    product = written["products/D.S.ORDERS_PRODUCT.html"]
    known = ("All orders &amp; returns", "team@example.org", "tier 1, 99.9 %", "5 minutes", "layer: gold", "Lineage")
    assert [said for said in known if said not in product] == []
    assert "&lt;currency&gt;" in product and "<currency>" not in product
    assert "fin@example.org" in written["contracts/D.S.ORDERS_C.html"]
    odd = [path for path in written if "odd_name" in path]
    assert len(odd) == 1 and re.fullmatch(r"objects/D\.S\.odd_name_1-[0-9a-f]{8}\.html", odd[0])


def test_the_picture_has_all_that_is_above_and_below() -> None:
    reads = neighbourhood(SNAPSHOT, ["D.S.ORDERS"])
    assert layers(reads) == [["D.S.RAW"], ["D.S.ORDERS"], ["D.S.DAILY"]]
    drawn = picture(SNAPSHOT, ["D.S.ORDERS"], lambda entry: entry.name)
    assert drawn.count("<rect") == 3 and drawn.count("<path") == 2 and drawn.count('class="chosen"') == 1
    assert picture(SNAPSHOT, ["D.S.NOWHERE"], lambda entry: entry.name) == ""


def test_a_circle_does_not_stop_the_picture() -> None:
    found = layers({"a": ("b",), "b": ("a",), "c": ()})
    assert sorted(name for layer in found for name in layer) == ["a", "b", "c"]

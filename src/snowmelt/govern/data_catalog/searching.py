"""Search over names, columns and descriptions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from snowmelt.govern.data_catalog.model import CatalogSnapshot, NamedEntry, RelationEntry

_NAME, _COLUMN, _ABOUT = 60, 40, 20
_WHOLE, _BEGINS = 40, 15
_PRODUCT = 10
"""Data products and contracts come before plain tables."""


@dataclass(frozen=True, slots=True)
class Hit:
    kind: str
    item: NamedEntry
    column: str | None
    text: str
    """What the words were found in."""
    score: int


@dataclass(frozen=True, slots=True)
class _Text:
    """A text that can be found, and what it counts."""

    column: str | None
    text: str | None
    weight: int


def search(snapshot: CatalogSnapshot, words: str) -> list[Hit]:
    """What has all the words somewhere, best first; for each object and each column the text that counts most."""
    wanted = words.lower().split()
    found = [hit for kind, item, texts in _searched(snapshot) for hit in _hits(kind, item, texts, wanted)]
    return sorted(found, key=lambda hit: (-hit.score, hit.item.full_name, hit.column or ""))


def _hits(kind: str, item: NamedEntry, texts: list[_Text], wanted: list[str]) -> Iterator[Hit]:
    whole = " ".join(text.text.lower() for text in texts if text.text)
    if not wanted or not all(word in whole for word in wanted):
        return
    best: dict[str | None, Hit] = {}
    for text in texts:
        score = _score(text, wanted)
        if score and (text.column not in best or best[text.column].score < score):
            more = _PRODUCT if kind == "DATA PRODUCT" else 0
            best[text.column] = Hit(kind, item, text.column, text.text or "", score + more)
    yield from best.values()


def _score(text: _Text, wanted: list[str]) -> int:
    """Zero for a text that has none of the words."""
    lower = (text.text or "").lower()
    matching = [word for word in wanted if word in lower]
    if not matching:
        return 0
    score = text.weight * len(matching) // len(wanted)
    if lower == " ".join(wanted):
        return score + _WHOLE
    return score + (_BEGINS if lower.startswith(wanted[0]) else 0)


def _searched(snapshot: CatalogSnapshot) -> Iterator[tuple[str, NamedEntry, list[_Text]]]:
    for product in snapshot.products:
        tags = " ".join(f"{tag} {value}" for tag, value in product.tags.items())
        about = (
            product.description, product.domain, product.product_owner, product.documentation, tags,
            " ".join(product.consumers), " ".join(product.pii),
        )  # fmt: skip
        yield "DATA PRODUCT", product, [_name(product), *(_Text(None, text, _ABOUT) for text in about)]
    for contract in snapshot.contracts:
        consumers = " ".join(consumer.name for consumer in contract.consumers)
        yield "CONTRACT", contract, [
            _name(contract), _Text(None, contract.description, _ABOUT), _Text(None, consumers, _ABOUT),
        ]  # fmt: skip
    for relation in snapshot.relations:
        yield relation.kind, relation, [_name(relation), _Text(None, relation.description, _ABOUT), *_columns(relation)]


def _name(item: NamedEntry) -> _Text:
    return _Text(None, item.name, _NAME)


def _columns(relation: RelationEntry) -> Iterator[_Text]:
    for column in relation.columns:
        yield _Text(column.name, column.name, _COLUMN)
        for text in (column.description, column.classification, " ".join(column.tags)):
            yield _Text(column.name, text, _ABOUT)

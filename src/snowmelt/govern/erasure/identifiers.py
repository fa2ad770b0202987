"""Values that name one person wherever they stand: addresses, numbers of documents, ids that nobody else has."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Sequence

from snowmelt.govern.pii.classes import CLASSES, by_name
from snowmelt.govern.pii.strategies import Strategy, hidden

NAMING = ("EMAIL", "PHONE_NUMBER", "NATIONAL_IDENTIFIER", "PAYMENT_CARD", "BANK_ACCOUNT")
"""Classes of personal data whose values belong to one person."""
ERASED = "[erased]"
"""What stands where a text mentioned the person."""
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_LEAST = 6
"""A shorter value stands in too much that is about others."""


def names_one_person(column: str, value: str) -> bool:
    """Whether the value of a column says who it is about, in whatever table it is found."""
    if len(value) < _LEAST:
        return False
    if _UUID.fullmatch(value) or any((looks := CLASSES[name].looks) and looks(value) for name in NAMING):
        return True
    found = by_name(column)
    return found is not None and found.name in NAMING


def with_pseudonyms(values: Iterable[str], key: str) -> tuple[str, ...]:
    """The values, and what hashing and tokenising made of them when they came in."""
    found: dict[str, None] = {}
    for value in values:
        for strategy in (Strategy.KEEP, Strategy.HASH, Strategy.KEYED_HASH, Strategy.TOKENISE):
            shown = hidden(value, strategy, key)
            if shown is not None and (strategy is not Strategy.KEEP or len(value) >= _LEAST):
                found[shown] = None
    return tuple(found)


def fingerprint(values: Iterable[str], key: str) -> str:
    """Says nothing about the values to who has no key."""
    text = "\0".join(sorted(value.lower() for value in values))
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()


class Mentions:
    """Finds identifiers in texts, in whatever case, also as JSON writes them."""

    def __init__(self, identifiers: Sequence[str]) -> None:
        spellings = {text for value in identifiers for text in (value, json.dumps(value)[1:-1])}
        longest_first = sorted(spellings, key=len, reverse=True)
        self.spellings = tuple(longest_first)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE) if spellings else None
        self._bytes = (
            re.compile(b"|".join(re.escape(text.encode()) for text in longest_first), re.IGNORECASE)
            if spellings
            else None
        )

    def __bool__(self) -> bool:
        return self._pattern is not None

    def in_text(self, text: str) -> bool:
        return self._pattern is not None and self._pattern.search(text) is not None

    def in_bytes(self, content: bytes) -> bool:
        return self._bytes is not None and self._bytes.search(content) is not None

    def erased(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(ERASED, text)

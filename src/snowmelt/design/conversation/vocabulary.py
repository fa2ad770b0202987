"""The vocabulary, read from the YAML beside this file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from snowmelt.core.yaml_text import load_yaml


@dataclass(frozen=True, slots=True)
class Phrase:
    field: str
    say: tuple[str, ...]
    value: Any = None
    take: str | None = None
    """Which part of the phrase is the value; None for one that always means the same."""
    plain: bool = False
    """Whether it counts behind a negation too, being one itself."""
    context: str | None = None


@dataclass(frozen=True, slots=True)
class Store:
    """Somewhere data can be."""

    name: str
    say: tuple[str, ...]
    source: str | None
    sink: str | None
    weak: bool = False
    """A use rather than a location (a dashboard): a sink, unless it is plainly where data comes from."""
    generic: bool = False
    """A form rather than a location (files): none of its own where another one is named."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    phrases: tuple[Phrase, ...]
    stores: Mapping[str, Store]
    roles: Mapping[str, frozenset[str]]
    verbs: frozenset[str]
    stops: frozenset[str]
    dropped: frozenset[str]
    outputs: frozenset[str]


@cache
def vocabulary() -> Vocabulary:
    data = load_yaml(files("snowmelt.design.conversation").joinpath("vocabulary.yaml").read_text("utf-8"))
    phrases = tuple(Phrase(**{**row, "say": tuple(row["say"])}) for row in data["phrases"])
    stores = {name: _store(name, row) for name, row in data["stores"].items()}
    roles = {role: frozenset(_words(words)) for role, words in data["roles"].items()}
    lists = {name: frozenset(_words(data[name])) for name in ("verbs", "stops", "dropped", "outputs")}
    return Vocabulary(phrases, stores, roles, **lists)


def _words(found: list[Any]) -> list[str]:
    """YAML reads `on` and `no` as truth values."""
    return ["on" if word is True else "no" if word is False else str(word) for word in found]


def _store(name: str, row: dict[str, Any]) -> Store:
    kinds = [None if row[role] == "-" else str(row[role]) for role in ("source", "sink")]
    return Store(name, tuple(row["say"]), kinds[0], kinds[1], bool(row.get("weak")), bool(row.get("generic")))

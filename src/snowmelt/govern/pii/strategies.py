"""What is shown or kept instead of personal data: nothing, a mask, a hash, or a token."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.pseudonyms import LENGTH as TOKEN_LENGTH
from snowmelt.core.pseudonyms import tokeniser
from snowmelt.govern.pii.classes import CLASSES

_STARS, _SHOWN = "****", 4
_LEAST_MASKED = 2 * _SHOWN
"""A shorter value is hidden as a whole: its last characters would be most of it."""
_HASH_LENGTH = 64


class Strategy(StrEnum):
    KEEP = "KEEP"
    MASK = "MASK"
    """Its last four characters, for people who know the value already; of fewer than eight none."""
    HASH = "HASH"
    """The same value has the same hash: it can be joined by, but a list of all phone numbers finds it out."""
    KEYED_HASH = "KEYED_HASH"
    """A SHA-256 with the account's key: as HASH, and no list finds it out. What comes in alone can have it."""
    TOKENISE = "TOKENISE"
    """A hash with the account's key: outside of the account nobody can find the value out."""
    DROP = "DROP"
    """The column is not there."""


@dataclass(frozen=True, slots=True)
class ClassifiedColumn:
    name: str
    pii: str | None


def parse_strategies(given: Mapping[str, str]) -> dict[str, Strategy]:
    """Strategies by class, or by `*` for all classes that are not named."""
    found: dict[str, Strategy] = {}
    for name, word in given.items():
        key = name.upper()
        if key != "*" and key not in CLASSES:
            raise errors.invalid_value(name, "class")
        found[key] = parse_strategy(word)
    return found


def parse_strategy(word: str) -> Strategy:
    chosen = word.upper().replace("TOKENIZE", "TOKENISE")
    if chosen not in set(Strategy):
        raise errors.invalid_value(word, "strategy")
    return Strategy(chosen)


def protected(columns: Sequence[ClassifiedColumn], strategies: Mapping[str, Strategy]) -> list[exp.Expr]:
    """The output columns of a view. Classified columns that no strategy is for are masked: nothing slips through."""
    shown: list[exp.Expr] = []
    for column in columns:
        name = exp.column(exp.to_identifier(column.name, quoted=True))
        if column.pii is None:
            shown.append(name)
            continue
        strategy = strategies.get(column.pii) or strategies.get("*") or Strategy.MASK
        if strategy is not Strategy.DROP:
            value = _shown(name, strategy)
            shown.append(exp.alias_(value, exp.to_identifier(column.name, quoted=True)))
    if not shown:
        raise errors.compilation(
            "001003", "42000", "PII strategies drop every column of the table.",
            hint="Choose another strategy for at least one column.",
        )  # fmt: skip
    return shown


def _shown(name: exp.Expr, strategy: Strategy) -> exp.Expr:
    if strategy is Strategy.KEEP:
        return name
    text = exp.cast(name, "VARCHAR")
    if strategy is Strategy.MASK:
        stars = exp.func("REPEAT", exp.Literal.string("*"), exp.Literal.number(len(_STARS)))
        ending = exp.func("CONCAT", stars, exp.func("RIGHT", text.copy(), exp.Literal.number(_SHOWN)))
        short = exp.LT(this=exp.func("LENGTH", text), expression=exp.Literal.number(_LEAST_MASKED))
        # NULL is not short, and its ending is NULL.
        return exp.Anonymous(this="IFF", expressions=[short, stars.copy(), ending])
    if strategy is Strategy.HASH:
        return exp.func("SHA2", text, exp.Literal.number(256))
    if strategy is Strategy.KEYED_HASH:
        raise errors.unsupported("KEYED_HASH in a view", hint="Use TOKENISE, which has the account's key too.")
    return exp.Anonymous(this="PII_TOKEN", expressions=[text])


def hidden(value: str, strategy: Strategy, key: str) -> str | None:
    """What is kept of a value: the same as a view would show of it."""
    match strategy:
        case Strategy.KEEP:
            return value
        case Strategy.MASK:
            return _STARS if len(value) < _LEAST_MASKED else _STARS + value[-_SHOWN:]
        case Strategy.HASH:
            return _sha256(value)
        case Strategy.KEYED_HASH:
            return hmac.new(key.encode(), value.encode(), hashlib.sha256).hexdigest()
        case Strategy.TOKENISE:
            return tokeniser(key)(value)
    return None


def longest(strategy: Strategy) -> int:
    """The most characters of what is kept."""
    lengths = {
        Strategy.MASK: len(_STARS) + _SHOWN,
        Strategy.HASH: _HASH_LENGTH,
        Strategy.KEYED_HASH: _HASH_LENGTH,
        Strategy.TOKENISE: TOKEN_LENGTH,
    }
    return lengths.get(strategy, 0)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

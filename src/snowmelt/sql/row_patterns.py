"""PATTERN (…) of MATCH_RECOGNIZE, compiled into the steps that `core/portable/row_matches.py` follows.

The steps of a part are in order of preference: the first alternative first, as many rows as possible, or as few as
possible where a `?` stands behind the quantifier.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import permutations

from snowmelt.core import errors
from snowmelt.core.names import fold

_MOST_STEPS = 5_000
_MOST_PERMUTED = 6
_TOKEN = re.compile(
    r'\s*(?:(?P<name>[A-Za-z_][\w$]*|"(?:[^"]|"")+")'
    r"|(?P<count>\{\s*+(?P<least>\d*+)\s*+(?P<to>,?)\s*+(?P<most>\d*+)\s*+\})"
    r"|(?P<mark>\{-|-\}|[()|*+?^$,]))"
)
Step = tuple[str | int, ...]
"""Its kind, and behind it: of `row` the condition, the symbol and whether the row is left out, of `either` and `go`
where to go on. Inside a fragment that is how many steps further; in a program it is the number of the step."""
_Fragment = tuple[Step, ...]
_PLAIN = {"*": (0, None), "+": (1, None), "?": (0, 1)}


@dataclass(frozen=True, slots=True)
class RowPattern:
    steps: tuple[Step, ...]
    symbols: tuple[str, ...]
    hides: bool
    """Whether a part of it stands in `{- … -}`."""


def compile_pattern(text: str, conditions: Mapping[str, int]) -> RowPattern:
    """`conditions` numbers the symbols of DEFINE; every row may be one that has no condition."""
    return _Reader(text, conditions).pattern()


class _Reader:
    def __init__(self, text: str, conditions: Mapping[str, int]) -> None:
        self._text = text
        self._conditions = conditions
        self._tokens = _tokens(text)
        self._at = 0
        self._symbols: dict[str, int] = {}

    def pattern(self) -> RowPattern:
        fragment = self._alternatives()
        if self._at < len(self._tokens) or not fragment:
            raise self._unexpected()
        steps = (*fragment, ("match",))
        placed: tuple[Step, ...] = tuple(
            (step[0], *(number + int(far) for far in step[1:])) if step[0] in ("either", "go") else step
            for number, step in enumerate(steps)
        )
        hides = any(step[0] == "row" and step[3] for step in steps)
        return RowPattern(placed, tuple(self._symbols), hides)

    def _alternatives(self) -> _Fragment:
        found = self._sequence()
        while self._takes("|"):
            found = _either(found, self._sequence())
        return found

    def _sequence(self) -> _Fragment:
        found: _Fragment = ()
        while (part := self._part()) is not None:
            found = self._bounded(found + self._repeated(part))
        return found

    def _part(self) -> _Fragment | None:
        token = self._peek()
        if token is None:
            return None
        if token["name"] is not None:
            self._at += 1
            return self._permuted() if token["name"].upper() == "PERMUTE" and self._takes("(") else self._row(token)
        for mark, end, build in _ENCLOSED:
            if self._takes(mark):
                inside = self._alternatives()
                if not self._takes(end):
                    raise self._unexpected()
                return build(inside)
        for mark, kind in (("^", "first"), ("$", "last")):
            if self._takes(mark):
                return ((kind,),)
        return None

    def _row(self, token: re.Match[str]) -> _Fragment:
        name = token["name"]
        quoted = name.startswith('"')
        symbol = fold(name[1:-1].replace('""', '"') if quoted else name, quoted=quoted)
        number = self._symbols.setdefault(symbol, len(self._symbols))
        return (("row", self._conditions.get(symbol, -1), number, 0),)

    def _permuted(self) -> _Fragment:
        parts = [self._alternatives()]
        while self._takes(","):
            parts.append(self._alternatives())
        if not self._takes(")"):
            raise self._unexpected()
        if len(parts) > _MOST_PERMUTED:
            raise errors.unsupported(f"PERMUTE of more than {_MOST_PERMUTED} parts")
        orders = [sum(order, ()) for order in permutations(parts)]
        found: _Fragment = orders.pop()
        while orders:
            found = self._bounded(_either(orders.pop(), found))
        return found

    def _repeated(self, part: _Fragment) -> _Fragment:
        token = self._peek()
        if token is None or (token["count"] is None and token["mark"] not in _PLAIN):
            return part
        self._at += 1
        least, most = _PLAIN[token["mark"]] if token["mark"] else _bounds(token)
        greedy = not self._takes("?")
        if (most is not None and most < least) or most == 0:
            raise errors.invalid_value(token[0].strip(), "quantifier")
        self._bounded((), least * len(part))
        found = part * least
        if most is None:
            return found + _star(part, greedy=greedy)
        self._bounded((), (most - least) * (len(part) + 1))
        optional: _Fragment = ()
        for _ in range(most - least):
            optional = _optional(part + optional, greedy=greedy)
        return found + optional

    def _bounded(self, fragment: _Fragment, times: int = 0) -> _Fragment:
        if len(fragment) > _MOST_STEPS or times > _MOST_STEPS:
            raise errors.unsupported(f"a PATTERN of more than {_MOST_STEPS} steps", hint="Repeat fewer rows.")
        return fragment

    def _peek(self) -> re.Match[str] | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _takes(self, mark: str) -> bool:
        token = self._peek()
        if token is None or token["mark"] != mark:
            return False
        self._at += 1
        return True

    def _unexpected(self) -> errors.SnowmeltError:
        token = self._peek()
        return _wrong(token[0].strip() if token is not None else ")")


def _tokens(text: str) -> list[re.Match[str]]:
    found: list[re.Match[str]] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        token = _TOKEN.match(text, at)
        if token is None:
            raise _wrong(text[at:].split(maxsplit=1)[0])
        found.append(token)
        at = token.end()
    return found


def _wrong(token: str) -> errors.SnowmeltError:
    return errors.compilation("001003", "42000", f"syntax error in PATTERN: unexpected '{token}'")


def _bounds(token: re.Match[str]) -> tuple[int, int | None]:
    """Of `{n}`, `{n,}`, `{n,m}` and `{,m}`."""
    if not (token["least"] or token["most"]):
        raise _wrong(token[0].strip())
    least = int(token["least"] or 0)
    if not token["to"]:
        return least, least
    return least, int(token["most"]) if token["most"] else None


def _either(first: _Fragment, second: _Fragment) -> _Fragment:
    return (("either", 1, len(first) + 2), *first, ("go", len(second) + 1), *second)


def _optional(part: _Fragment, *, greedy: bool) -> _Fragment:
    into, beyond = 1, len(part) + 1
    return (("either", into, beyond) if greedy else ("either", beyond, into), *part)


def _star(part: _Fragment, *, greedy: bool) -> _Fragment:
    into, beyond = 1, len(part) + 2
    return (("either", into, beyond) if greedy else ("either", beyond, into), *part, ("go", -len(part) - 1))


def _as_it_is(part: _Fragment) -> _Fragment:
    return part


def _hidden(part: _Fragment) -> _Fragment:
    return tuple((*step[:3], 1) if step[0] == "row" else step for step in part)


_ENCLOSED: tuple[tuple[str, str, Callable[[_Fragment], _Fragment]], ...] = (
    ("(", ")", _as_it_is), ("{-", "-}", _hidden),
)  # fmt: skip

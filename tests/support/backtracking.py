"""How often a regular expression may look at the same character, by its automaton and not by a clock.

Python tries one way after the other. A text that it can read in many ways and that fits none of them costs all of them:
exponentially many when a loop can read a text in two ways, as many as a power of its length when two loops that follow
on each other can read the same (Weber and Seidl, "On the degree of ambiguity of finite automata"). `search` is a loop
over any character before the expression.

What is said here is an upper bound: assertions other than the end of the text are taken to hold, a class of characters
is judged by samples, and a count is cut at three.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from re import _constants as code  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_MOST_COPIES = 3
_BEYOND = (0x17F, 0x130, 0x3A9, 0x5D0, 0x663, 0x4E2D, 0x3000, 0xD800, 0x1F600)
SAMPLES = [chr(number) for number in (*range(256), *_BEYOND)]
_Accepts = Callable[[str], bool]


class Ambiguity(Enum):
    NONE = "linear"
    POLYNOMIAL = "polynomial"
    EXPONENTIAL = "exponential"


_CHARACTERS = (code.LITERAL, code.NOT_LITERAL, code.ANY, code.IN)


@dataclass(slots=True)
class _Automaton:
    """Steps from state to state: without a character, or with one of a set of samples."""

    free: list[list[int]] = field(default_factory=list)
    reads: list[list[tuple[frozenset[int], int]]] = field(default_factory=list)
    allowed: dict[int, frozenset[int]] = field(default_factory=dict)
    """States that are passed only where one of these comes next: behind `\\s*+` there is no blank."""

    def state(self) -> int:
        self.free.append([])
        self.reads.append([])
        return len(self.free) - 1


class _Builder:
    def __init__(self, flags: int) -> None:
        self.automaton = _Automaton()
        self._flags = flags

    def sequence(self, items: Any, start: int, flags: int) -> int:
        for op, argument in items:
            start = self._item(op, argument, start, flags)
        return start

    def _item(self, op: Any, argument: Any, start: int, flags: int) -> int:
        made = self.automaton
        if op in _CHARACTERS:
            end = made.state()
            made.reads[start].append((_samples(op, argument, flags), end))
            return end
        if op is code.BRANCH:
            end = made.state()
            for branch in argument[1]:
                first = made.state()
                made.free[start].append(first)
                made.free[self.sequence(branch, first, flags)].append(end)
            return end
        if op is code.SUBPATTERN:
            _, added, removed, inner = argument
            return self.sequence(inner, start, (flags | added) & ~removed)
        if op in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
            end = self._repeat(argument, start, flags)
            taken = argument[2][0]
            if op is code.POSSESSIVE_REPEAT and argument[1] is code.MAXREPEAT and taken[0] in _CHARACTERS:
                made.allowed[end] = frozenset(range(len(SAMPLES) + 1)) - _samples(taken[0], taken[1], flags)
            return end
        if op is code.ATOMIC_GROUP:
            return self.sequence(argument, start, flags)
        if op in (code.ASSERT, code.ASSERT_NOT):
            direction, inner = argument
            if direction > 0:
                # It is read up to its end and beyond that no further: a way that ends nowhere.
                first = made.state()
                made.free[start].append(first)
                self.sequence(inner, first, flags)
            return start
        if op is code.AT:
            if argument in (code.AT_END, code.AT_END_STRING):
                end = made.state()
                made.reads[start].append((frozenset({len(SAMPLES)}), end))
                return end
            return start
        if op in (code.GROUPREF, code.GROUPREF_EXISTS):
            return start
        raise NotImplementedError(str(op))

    def _repeat(self, argument: Any, start: int, flags: int) -> int:
        least, most, inner = argument
        made = self.automaton
        for _ in range(min(int(least), _MOST_COPIES)):
            start = self.sequence(inner, start, flags)
        if most is code.MAXREPEAT:
            loop, end = made.state(), made.state()
            made.free[start] += [loop, end]
            made.free[self.sequence(inner, loop, flags)] += [loop, end]
            return end
        end = made.state()
        made.free[start].append(end)
        for _ in range(min(int(most) - int(least), _MOST_COPIES)):
            start = self.sequence(inner, start, flags)
            made.free[start].append(end)
        return end


def _samples(op: Any, argument: Any, flags: int) -> frozenset[int]:
    accepts = _accepts(op, argument, flags)
    if flags & re.IGNORECASE and op is not code.ANY:
        plain = accepts

        def accepts(character: str) -> bool:
            return plain(character) or plain(character.lower()[:1]) or plain(character.upper()[:1])

    return frozenset(index for index, character in enumerate(SAMPLES) if accepts(character))


def _accepts(op: Any, argument: Any, flags: int) -> _Accepts:
    if op is code.LITERAL:
        return lambda character: ord(character) == argument
    if op is code.NOT_LITERAL:
        return lambda character: ord(character) != argument
    if op is code.ANY:
        return lambda character: bool(flags & re.DOTALL) or character != "\n"
    parts = [_part(*item) for item in argument if item[0] is not code.NEGATE]
    negated = argument[0][0] is code.NEGATE
    return lambda character: any(part(character) for part in parts) != negated


def _part(op: Any, argument: Any) -> _Accepts:
    if op is code.LITERAL:
        return lambda character: ord(character) == argument
    if op is code.RANGE:
        low, high = argument
        return lambda character: low <= ord(character) <= high
    if op is code.CATEGORY:
        pattern = re.compile(_CATEGORIES[argument])
        return lambda character: pattern.match(character) is not None
    raise NotImplementedError(str(op))


_CATEGORIES = {
    code.CATEGORY_DIGIT: r"\d", code.CATEGORY_NOT_DIGIT: r"\D", code.CATEGORY_SPACE: r"\s",
    code.CATEGORY_NOT_SPACE: r"\S", code.CATEGORY_WORD: r"\w", code.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


def ambiguity(pattern: re.Pattern[Any], method: str) -> tuple[Ambiguity, str]:
    """What a text may cost, and a text that is repeated in the worst one."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    tree = parser.parse(text, pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags)
    return _Judge(tree, tree.state.flags, method).verdict()


def _behind(tree: Any, flags: int) -> frozenset[int] | None:
    """What has to stand before the expression, where it begins with a line or a word; None for anything."""
    first = tree[0] if len(tree) else None
    if first is None or first[0] is not code.AT:
        return None
    if first[1] is code.AT_BEGINNING:
        return frozenset({SAMPLES.index("\n")}) if flags & re.MULTILINE else frozenset()
    if first[1] is code.AT_BEGINNING_STRING:
        return frozenset()
    # Words that are looked for begin with a letter: what stands before is none.
    return frozenset(index for index, sample in enumerate(SAMPLES) if re.match(r"\W", sample))


def _kinds(made: _Automaton) -> list[int]:
    """One sample of each kind that the expression tells apart, and the end of the text."""
    sets = {what for reads in made.reads for what, _ in reads}
    found: dict[tuple[bool, ...], int] = {}
    for sample in range(len(SAMPLES)):
        found.setdefault(tuple(sample in what for what in sets), sample)
    return [*found.values(), len(SAMPLES)]


class _Judge:
    def __init__(self, tree: Any, flags: int, method: str) -> None:
        builder = _Builder(flags)
        made = builder.automaton
        start = made.state()
        begin = made.state()
        made.free[start].append(begin)
        end = builder.sequence(tree, begin, flags)
        if method == "fullmatch":
            last = made.state()
            made.reads[end].append((frozenset({len(SAMPLES)}), last))
            end = last
        if method not in ("match", "fullmatch"):
            behind = _behind(tree, flags)
            if behind is None:
                made.reads[start].append((frozenset(range(len(SAMPLES))), start))
            else:
                self._search_behind(made, start, begin, behind)
        self._made = made
        self._start, self._end = start, end
        self._kinds = _kinds(made)
        self._closures = [self._closure(state) for state in range(len(made.free))]
        self._ways = [self._steps(state) for state in range(len(made.free))]

    @staticmethod
    def _search_behind(made: _Automaton, start: int, begin: int, behind: frozenset[int]) -> None:
        """The search goes on over everything, and the expression begins behind some of it only."""
        everything = frozenset(range(len(SAMPLES)))
        there = made.state()
        made.free[there].append(begin)
        for state in (start, there):
            made.reads[state] += [(everything - behind, start), (behind, there)]
        elsewhere = made.state()
        made.reads[elsewhere] += [(everything - behind, elsewhere), (behind, there)]
        for state in (start, there):
            made.reads[state] = [(what, elsewhere if to == start else to) for what, to in made.reads[state]]

    def _closure(self, state: int) -> frozenset[int]:
        found, waiting = {state}, [state]
        while waiting:
            for following in self._made.free[waiting.pop()]:
                if following not in found:
                    found.add(following)
                    waiting.append(following)
        return frozenset(found)

    def _steps(self, state: int) -> list[tuple[frozenset[int], int, tuple[int, int, int]]]:
        """Steps that read: what, to where, and by which of the ways (two ways to one state are two readings)."""
        return [
            (what & allowed, to, (at, number, way))
            for at, ways in self._ways_without_reading(state).items()
            for way, allowed in enumerate(ways)
            for number, (what, to) in enumerate(self._made.reads[at])
            if what & allowed
        ]

    def _ways_without_reading(self, state: int) -> dict[int, list[frozenset[int]]]:
        """The ways to states without a character, as what may come next; two are as bad as many."""
        found: dict[int, list[frozenset[int]]] = {}

        def go(at: int, passed: frozenset[int], allowed: frozenset[int]) -> None:
            ways = found.setdefault(at, [])
            if len(ways) == 2:
                return
            allowed &= self._made.allowed.get(at, allowed)
            ways.append(allowed)
            for following in self._made.free[at]:
                if following not in passed:
                    go(following, passed | {following}, allowed)

        go(state, frozenset({state}), frozenset(range(len(SAMPLES) + 1)))
        return found

    def _accepting(self, state: int) -> bool:
        return self._end in self._closures[state]

    def verdict(self) -> tuple[Ambiguity, str]:
        targets = {self._start} | {to for ways in self._ways for _, to, _ in ways}
        reached = self._reachable(targets)
        looped = [state for state in sorted(targets & reached) if self._returns(state)]
        dangerous = [state for state in looped if not self._accepting(state) and not self._never_fails(state)]
        for state in dangerous:
            if (witness := self._two_ways_round(state)) is not None:
                return Ambiguity.EXPONENTIAL, witness
        for other in dangerous:
            for one in looped:
                if one != other and (witness := self._handed_over(one, other)) is not None:
                    return Ambiguity.POLYNOMIAL, witness
        return Ambiguity.NONE, ""

    def _reachable(self, targets: set[int]) -> set[int]:
        found, waiting = {self._start}, [self._start]
        while waiting:
            for _, to, _ in self._ways[waiting.pop()]:
                if to not in found:
                    found.add(to)
                    waiting.append(to)
        return found

    def _returns(self, state: int) -> bool:
        found: set[int] = set()
        waiting = [state]
        while waiting:
            for _, to, _ in self._ways[waiting.pop()]:
                if to == state:
                    return True
                if to not in found:
                    found.add(to)
                    waiting.append(to)
        return False

    def _two_ways_round(self, state: int) -> str | None:
        """A text that leads from a state back to it in two ways."""
        first = (state, state, False)
        seen: dict[tuple[int, int, bool], str] = {first: ""}
        waiting = [first]
        while waiting:
            current = waiting.pop(0)
            one, other, parted = current
            for what_one, to_one, way_one in self._ways[one]:
                for what_other, to_other, way_other in self._ways[other]:
                    common = what_one & what_other
                    if not common or common == {len(SAMPLES)}:
                        continue
                    after = (to_one, to_other, parted or way_one != way_other)
                    text = seen[current] + SAMPLES[min(common)]
                    if after == (state, state, True):
                        return text
                    if after not in seen:
                        seen[after] = text
                        waiting.append(after)
        return None

    def _never_fails(self, state: int) -> bool:
        """Whether all that may follow is accepted sooner or later."""
        first = frozenset({state})
        seen, waiting = {first}, [first]
        while waiting:
            current = waiting.pop()
            for sample in self._kinds:
                after = self._all_after(current, sample)
                if any(self._accepting(item) for item in after):
                    continue
                if not after or sample == len(SAMPLES):
                    return False
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
        return True

    def _all_after(self, states: frozenset[int], sample: int) -> frozenset[int]:
        return frozenset(to for state in states for what, to, _ in self._ways[state] if sample in what)

    def _handed_over(self, one: int, other: int) -> str | None:
        """A text that leads from one state to itself and to the other, and keeps the other without an end."""
        first = (one, one, frozenset({other}))
        seen: dict[tuple[int, int, frozenset[int]], str] = {first: ""}
        waiting = [first]
        while waiting:
            current = waiting.pop(0)
            a, b, c = current
            for sample in self._kinds[:-1]:
                kept = self._all_after(c, sample)
                if not kept or any(self._accepting(state) for state in kept):
                    continue
                for to_a in {to for what, to, _ in self._ways[a] if sample in what}:
                    for to_b in {to for what, to, _ in self._ways[b] if sample in what}:
                        after = (to_a, to_b, kept)
                        text = seen[current] + SAMPLES[sample]
                        if (to_a, to_b) == (one, other) and other in kept:
                            return text
                        if after not in seen:
                            seen[after] = text
                            waiting.append(after)
        return None

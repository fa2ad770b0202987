"""Snowflake's regular expressions, rewritten for the engine under Spark (java.util.regex).

Snowflake's are POSIX extended ones with `\\d \\s \\w \\b`; the rewriting parses them and says each piece so
that Java means the same by it. What would otherwise be different without any error:

* `.` leaves out the newline only, and `$` stands at the very end only. Java knows more line ends.
* `[[:alpha:]]`, `[[]`, `[]a]` and `[a&&b]` are sets of another meaning to Java.
* `*?`, `+?` and `??` are not lazy: the `?` makes optional what stands before it.
* `++` and `*+` are not possessive: the second sign repeats what stands before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from snowmelt.core import errors

_CLASS_NAMES = {
    "alnum": "Alnum", "alpha": "Alpha", "ascii": "ASCII", "blank": "Blank", "cntrl": "Cntrl",
    "digit": "Digit", "graph": "Graph", "lower": "Lower", "print": "Print", "punct": "Punct",
    "space": "Space", "upper": "Upper", "xdigit": "XDigit",
}  # fmt: skip
_PLAIN_ESCAPES = {"a": r"\x07", "f": r"\f", "n": r"\n", "r": r"\r", "t": r"\t", "v": r"\x0B"}
_SETS = "dDsSwW"
_BOUNDARIES = "bB"
_META = frozenset(r"\^$.|?*+()[]{}-&~#")
_REPEAT = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")
_NAMED_CLASS = re.compile(r"\[:(\^?)([a-z]+):\]")
_HEX = re.compile(r"\\x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))")
_MAX_REPEAT = 1000
_LEFT = r"(?=((?s:.+)\z)|(?<=((?s:.)))\z)"
"""Reads nothing, and has what is left of the subject, or its last character if nothing is left."""


@dataclass(frozen=True, slots=True)
class Flags:
    """The meaning of a parameter string such as `'ims'`."""

    case_insensitive: bool = False
    multiline: bool = False
    dot_matches_newline: bool = False
    extract: bool = False
    """`e`: the first group is wanted, not the whole match."""

    @property
    def prefix(self) -> str:
        # `d`: a newline is the only line end. `u`: letters beyond ASCII have cases too.
        return "(?d" + ("iu" * self.case_insensitive) + ("m" * self.multiline) + ("s" * self.dot_matches_newline) + ")"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern in Java's syntax, without its flags."""

    text: str
    without_groups: str
    """The same, capturing nothing."""
    groups: int
    may_be_empty: bool
    """Whether it can match the empty string."""
    flags: Flags
    rest: int = 0
    """The group that has what is left of the subject at the `edge`; the next one, its last character if nothing is."""
    skippable: frozenset[int] = frozenset()
    """Groups that a match may pass over."""


@dataclass(frozen=True, slots=True)
class GroupEdge:
    """Where a group begins, or what is right behind it."""

    group: int
    behind: bool


def parse_flags(text: str) -> Flags:
    """The later of `c` and `i` counts; an unknown letter is an error."""
    for letter in text:
        if letter not in "cimse":
            raise errors.SnowmeltError(
                "100050", "22023", f"Invalid regular expression parameter: '{text}' contains '{letter}'"
            )
    return Flags(
        case_insensitive=text.rfind("i") > text.rfind("c"),
        multiline="m" in text,
        dot_matches_newline="s" in text,
        extract="e" in text,
    )


def translate(pattern: str, flags: Flags | None = None, edge: GroupEdge | None = None) -> Pattern:
    """The pattern for Java; an error with Snowflake's code when it is not a valid one."""
    chosen = flags or Flags()
    reader = _Reader(pattern, chosen, edge)
    piece = reader.alternation()
    if reader.position < len(pattern):
        raise reader.error("unexpected )", pattern[reader.position :])
    return Pattern(
        piece.text, piece.silent, reader.groups, piece.may_be_empty, chosen, reader.rest, frozenset(reader.skippable)
    )


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    silent: str
    may_be_empty: bool

    def repeated(self, sign: str, *, optional: bool) -> _Piece:
        return _Piece(f"{self.text}{sign}", f"{self.silent}{sign}", self.may_be_empty or optional)

    def grouped(self) -> _Piece:
        return _Piece(f"(?:{self.text})", f"(?:{self.silent})", self.may_be_empty)


class _Reader:
    def __init__(self, pattern: str, flags: Flags, edge: GroupEdge | None) -> None:
        self.pattern = pattern
        self.flags = flags
        self.edge = edge
        self.rest = 0
        self.skippable: set[int] = set()
        self.position = 0
        self.groups = 0

    def error(self, reason: str, where: str) -> errors.SnowmeltError:
        return errors.SnowmeltError(
            "100048", "2201B", f"Invalid regular expression: '{self.pattern}', {reason}: {where}"
        )

    def peek(self) -> str:
        return self.pattern[self.position : self.position + 1]

    def alternation(self) -> _Piece:
        before = self.groups
        branches = [self.sequence()]
        while self.peek() == "|":
            self.position += 1
            branches.append(self.sequence())
        if len(branches) > 1:
            self._skip_since(before)
        return _Piece(
            "|".join(branch.text for branch in branches),
            "|".join(branch.silent for branch in branches),
            any(branch.may_be_empty for branch in branches),
        )

    def sequence(self) -> _Piece:
        pieces: list[_Piece] = []
        while self.peek() not in ("", "|", ")"):
            before = self.groups
            pieces.append(self.repetition(self.atom(), before))
        return _Piece(
            "".join(piece.text for piece in pieces),
            "".join(piece.silent for piece in pieces),
            all(piece.may_be_empty for piece in pieces),
        )

    def _skip_since(self, before: int) -> None:
        self.skippable.update(range(before + 1, self.groups + 1))

    def repetition(self, piece: _Piece, before: int) -> _Piece:
        """`before`: how many groups there were when the piece began."""
        repeated = False
        while True:
            sign, optional = self.quantifier()
            if not sign:
                return piece
            if optional:
                self._skip_since(before)
            # Java would read a second sign as "lazy" or "possessive".
            piece = (piece.grouped() if repeated else piece).repeated(sign, optional=optional)
            repeated = True

    def quantifier(self) -> tuple[str, bool]:
        sign = self.peek()
        if sign and sign in "*+?":
            self.position += 1
            return sign, sign != "+"
        found = _REPEAT.match(self.pattern, self.position)
        if found is None:
            return "", False
        least, most = int(found[1]), int(found[3]) if found[3] else None
        if least > _MAX_REPEAT or (most is not None and (most > _MAX_REPEAT or most < least)):
            raise self.error("invalid repetition size", found[0])
        self.position = found.end()
        return found[0], least == 0

    def atom(self) -> _Piece:
        character = self.peek()
        if character == "(":
            return self.group()
        if character == "[":
            text = self.bracket()
            return _Piece(text, text, may_be_empty=False)
        if character == "\\":
            return self.escape()
        if character in "*+?" or (character == "{" and _REPEAT.match(self.pattern, self.position)):
            raise self.error("no argument for repetition operator", character)
        self.position += 1
        if character in "^$":
            text = r"\z" if character == "$" and not self.flags.multiline else character
            return _Piece(f"(?:{text})", f"(?:{text})", may_be_empty=True)
        text = character if character == "." else _literal(character)
        return _Piece(text, text, may_be_empty=False)

    def group(self) -> _Piece:
        start = self.position
        self.position += 1
        if self.peek() == "?":
            raise self.error("no argument for repetition operator", "?")
        self.groups += 1
        edge = self.edge if self.edge is not None and self.edge.group == self.groups else None
        if edge is not None and not edge.behind:
            self.rest = self.groups + 1
        inner = self.alternation()
        if edge is not None:
            self.rest = self.rest or self.groups + 1
            parts = (f"(?:{inner.text})", _LEFT) if edge.behind else (_LEFT, f"(?:{inner.text})")
            inner = _Piece("".join(parts), inner.silent, inner.may_be_empty)
        if self.peek() != ")":
            raise self.error("missing )", self.pattern[start:])
        self.position += 1
        return _Piece(f"({inner.text})", f"(?:{inner.silent})", inner.may_be_empty)

    def escape(self) -> _Piece:
        letter = self.pattern[self.position + 1 : self.position + 2]
        if letter and letter in _BOUNDARIES:
            self.position += 2
            return _Piece(f"(?:\\{letter})", f"(?:\\{letter})", may_be_empty=True)
        text = self.escaped_character()
        return _Piece(text, text, may_be_empty=False)

    def escaped_character(self) -> str:
        """One escape that stands for a character or a set of characters."""
        letter = self.pattern[self.position + 1 : self.position + 2]
        if not letter:
            raise self.error("trailing \\ at end of", self.pattern)
        found = _HEX.match(self.pattern, self.position)
        if found is not None:
            self.position = found.end()
            return f"\\x{{{found[1] or found[2]}}}"
        self.position += 2
        if letter in _SETS:
            return f"\\{letter}"
        if letter in _PLAIN_ESCAPES:
            return _PLAIN_ESCAPES[letter]
        if letter.isascii() and letter.isalnum():
            raise self.error("invalid escape sequence", f"\\{letter}")
        return _literal(letter)

    def bracket(self) -> str:
        start = self.position
        self.position += 1
        negated = self.peek() == "^"
        self.position += negated
        parts: list[str] = []
        while self.peek() != "]" or not parts:
            if self.position >= len(self.pattern):
                raise self.error("missing ]", self.pattern[start:])
            parts.append(self.bracket_item())
        self.position += 1
        return f"[{'^' * negated}{''.join(parts)}]"

    def bracket_item(self) -> str:
        named = _NAMED_CLASS.match(self.pattern, self.position)
        if named is not None:
            return self.named_class(named)
        start = self.position
        low = self.bracket_character()
        following = self.pattern[self.position : self.position + 2]
        if len(following) < 2 or following[0] != "-" or following[1] == "]":
            return low
        self.position += 1
        high = self.bracket_character()
        if _is_set(low) or _is_set(high):
            raise self.error("invalid character class range", self.pattern[start : self.position])
        return f"{low}-{high}"

    def bracket_character(self) -> str:
        if self.peek() == "\\":
            return self.escaped_character()
        self.position += 1
        return _literal(self.pattern[self.position - 1])

    def named_class(self, found: re.Match[str]) -> str:
        self.position = found.end()
        letter = "P" if found[1] else "p"
        if found[2] == "word":
            return r"\W" if found[1] else r"\w"
        if found[2] not in _CLASS_NAMES:
            raise self.error("invalid character class range", found[0])
        return f"\\{letter}{{{_CLASS_NAMES[found[2]]}}}"


def _literal(character: str) -> str:
    return f"\\{character}" if character in _META else character


def _is_set(text: str) -> bool:
    return len(text) == 2 and text[0] == "\\" and text[1] in _SETS

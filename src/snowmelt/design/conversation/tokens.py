"""A text as tokens, each with its position in the text: what is understood is shown with the words it came from."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
    (?P<mail>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)
    | (?P<uri>[a-z][a-z0-9]{1,9}://[^\s,;"'()<>`]*[^\s,;"'()<>`.!?])
    | (?P<channel>\#[\w-]+)
    | (?P<region>[a-z]{2}-[a-z]+-\d\b)
    | (?P<file>[\w*/-]+\.(?:csv|tsv|jsonl?|ndjson|parquet|avro)(?:\.gz)?\b)
    | (?P<clock>\d{1,2}:\d{2})
    | (?P<number>\d+(?:[.,]\d+)*)
    | (?P<word>[^\W\d_]\w*(?:\.[^\W\d]\w*)*(?:['\u2019](?:s|t|re|ve|ll|d|m))?)
    | (?P<sign>[,;.!?:()/%&"\u201c\u201d`=<>])
    """,
    re.VERBOSE,
)
_OWNED = re.compile(r"['\u2019]s$")
CLAUSE_ENDS = frozenset(".;!?")


@dataclass(frozen=True, slots=True)
class AnswerToken:
    text: str
    """As it was written."""
    word: str
    """In small letters, without 's."""
    kind: str
    start: int
    end: int
    number: float | None = None

    @property
    def owned(self) -> bool:
        """Whether it ends in 's: "our shop's PostgreSQL"."""
        return _OWNED.search(self.text) is not None


def tokens_of(text: str) -> list[AnswerToken]:
    """Words, numbers and signs. Hyphens separate words: near-real-time is three of them."""
    found = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "sign"
        written = match.group()
        word = _OWNED.sub("", written.lower()).replace("\u2019", "'")
        number = _number(written) if kind == "number" else None
        found.append(AnswerToken(written, word, kind, match.start(), match.end(), number))
    return found


def _number(text: str) -> float:
    """Commas stand between thousands: 1,000,000; one that does not is a decimal comma: 2,5."""
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", text):
        return float(text.replace(",", ""))
    parts = text.replace(",", ".").split(".")
    return float(parts[0] + ("." + "".join(parts[1:]) if len(parts) > 1 else ""))

"""What else a description says of things it names: what is made of them, what is sent on, which columns they have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from snowmelt.design.conversation.mentions import (
    CALLED,
    Mention,
    NamedThing,
    is_negated,
    is_noun,
    is_sending,
    names_at,
)
from snowmelt.design.conversation.tokens import AnswerToken
from snowmelt.design.conversation.vocabulary import vocabulary

_LIST = re.compile(
    r"\s*(?:table|topic|file|s)?\s*"
    r"(?:\((?P<inside>[^()]{3,2000})\)|(?:has|have|with|contains?|,)?\s*(?:the\s+)?columns?\s*:?\s+(?P<named>[^.;:()]{3,2000}))",
    re.IGNORECASE,
)
_COLUMN = re.compile(r"[a-z_][\w$]*( [a-z]+( ?\(\d+(, ?\d+)?\))?)?", re.IGNORECASE)
_REMARKS = frozenset(
    {"about", "roughly", "the", "a", "an", "our", "all", "only", "see", "not", "no", "e.g", "i.e", "with"}
)


def outputs(tokens: Sequence[AnswerToken]) -> list[NamedThing]:
    """What is made of it: `a revenue table`, `a table called daily_revenue`, `a report of sales per region`."""
    words = vocabulary()
    found: dict[str, NamedThing] = {}
    for at, token in enumerate(tokens):
        if token.word.removesuffix("s") not in words.outputs and token.word not in words.outputs:
            continue
        following = tokens[at + 1 : at + 3]
        if len(following) == 2 and following[0].word in (*CALLED, "of") and following[1].kind == "word":
            thing = names_at(tokens, at + 2)
            if thing and (following[0].word in CALLED or token.word not in ("table", "tables", "list", "view")):
                found.setdefault(thing[0].name, thing[0])
                continue
        start = at
        while start and tokens[start - 1].kind == "word" and _is_output_word(tokens[start - 1]):
            start -= 1
        introduced = start and tokens[start - 1].word in ("a", "an", "one", "the", "our", "daily", "monthly", "weekly")
        made = _is_made(tokens, start)
        if start < at and introduced and made:
            name = "_".join(item.word for item in tokens[start:at])
            found.setdefault(name, NamedThing(name, tokens[start].start, token.end))
    for at, token in enumerate(tokens):
        if token.word in _COMPUTING and not is_negated(tokens, at):
            for computed in names_at(tokens, at + 1)[:1]:
                found.setdefault(computed.name, computed)
    return list(found.values())


_COMPUTING = frozenset({"compute", "computes", "calculate", "calculates"})


def _is_output_word(token: AnswerToken) -> bool:
    """Part of what an output is called; the words of time belong to it: `daily revenue`."""
    return is_noun(token) or (token.word in ("daily", "weekly", "monthly") and token.kind == "word")


_MAKING = frozenset({"make", "create", "give", "show", "keep", "see", "maintain", "publish", "need", "needs", "want",
                     "wants", "compute", "in"})  # fmt: skip


def _is_made(tokens: Sequence[AnswerToken], at: int) -> bool:
    """Whether it stands behind a word of making or of direction, rather than being where data comes from."""
    roles = vocabulary().roles
    for token in reversed(tokens[max(0, at - 5) : at]):
        if token.word in roles["sink"] or token.word in _MAKING:
            return True
        if token.word in roles["source"]:
            return False
    return False


def sent_things(tokens: Sequence[AnswerToken], found: Sequence[Mention]) -> list[NamedThing]:
    """What goes out and is made of what comes in: `… and send segments back to HubSpot`."""
    occupied = [(mention.start, mention.end) for mention in found]
    return list(_sent(tokens, found, occupied))


def _sent(
    tokens: Sequence[AnswerToken], found: Sequence[Mention], occupied: Sequence[tuple[int, int]]
) -> Iterator[NamedThing]:  # fmt: skip
    for at in range(len(tokens)):
        if is_sending(tokens, at, found):
            yield from names_at(tokens, at + 1, occupied)


def columns_behind(text: str, end: int) -> tuple[str, str] | None:
    """`patients (id, name, ssn)`, `orders with columns id and amount`: the list, and the words that hold it."""
    found = _LIST.match(text, end)
    if found is None:
        return None
    listed = found["inside"] or found["named"]
    parts = [part.strip() for part in re.split(r",|\band\b", listed) if part.strip()]
    if found["named"] is not None:
        parts = _while_names(parts)
    named = [part for part in parts if _COLUMN.fullmatch(part) and part.split()[0].lower() not in _REMARKS]
    if len(named) < _FEWEST or len(named) != len(parts):
        return None
    return ", ".join(named), found.group().strip()


_FEWEST = 2
"""`orders (new)` is a remark."""


def _while_names(parts: Sequence[str]) -> list[str]:
    """`id, amount and country into a table`: the list ends where more than a name stands."""
    found = []
    for part in parts:
        name, _, more = part.partition(" ")
        found.append(name)
        if more:
            break
    return found

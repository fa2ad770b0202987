"""Where data comes from and goes to, and what it is called: the structure of a sentence, as far as it is needed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from snowmelt.design.conversation.captures import PERSONAL
from snowmelt.design.conversation.patterns import matches
from snowmelt.design.conversation.tokens import CLAUSE_ENDS, AnswerToken
from snowmelt.design.conversation.vocabulary import Store, vocabulary

_NEGATIONS = frozenset({"no", "not", "without", "never", "don't", "doesn't", "isn't", "aren't", "nor", "instead",
                        "rather", "neither", "avoid", "don", "cannot", "can't"})  # fmt: skip
_REACH = 3
"""How many words before a phrase a negation may stand."""
_NAME = re.compile(r"[a-z_][a-z0-9_.]*|.*\.(csv|tsv|jsonl?|ndjson|parquet|avro)(\.gz)?")
_TABLE_WORDS = frozenset({"table", "tables", "topic", "topics", "collection", "endpoint", "endpoints"})
_CALLED = frozenset({"called", "named"})
_SYSTEMS = frozenset({"database", "db", "system", "server", "app", "application", "service", "team", "instance"})
_GENERIC = frozenset({"change", "changes", "version", "versions", "history", "quality", "list", "copy", "copies",
                      "alerts", "alert", "days", "data", "rows", "records", "dump", "events", "messages", "minutes",
                      "snapshot", "export", "levels", "kinds", "set"})  # fmt: skip
"""Say in what form something comes, not what it is, when an "of" follows."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A store that is spoken of."""

    store: Store
    role: str
    name: str | None
    start: int
    end: int
    """Of tokens."""


@dataclass(frozen=True, slots=True)
class NamedThing:
    name: str
    start: int
    end: int


def is_negated(tokens: Sequence[AnswerToken], at: int) -> bool:
    """Whether a "no" or "not" stands shortly before, in the same clause."""
    for token in reversed(tokens[max(0, at - _REACH) : at]):
        if token.text in CLAUSE_ENDS or token.text == "," or token.word in ("but", "only"):
            return False
        if token.word in _NEGATIONS:
            return True
    return False


# -- stores -----------------------------------------------------------------------------------------------------------


def mentions(tokens: Sequence[AnswerToken]) -> list[Mention]:
    """In the order of the text. What is spoken of as not wanted is left out."""
    spans: list[tuple[int, int, Store]] = []
    for store in vocabulary().stores.values():
        for words in store.say:
            spans += [(found.start, found.end, store) for found in matches(words, tokens)]
    chosen: list[tuple[int, int, Store]] = []
    for span in sorted(spans, key=lambda item: (item[0] - item[1], item[2].weak, item[0])):
        if not any(span[0] < other[1] and other[0] < span[1] for other in chosen):
            chosen.append(span)
    found: list[Mention] = []
    for start, end, store in sorted(chosen, key=lambda item: item[0]):
        if is_negated(tokens, start) or _is_own_noun(tokens, start, end, store):
            continue
        role = _role(tokens, start, store, [mention for mention in found if not mention.store.generic])
        found.append(Mention(store, role, _owner(tokens, start, store), start, end))
    return _without_repeats(_without_forms(found))


def _is_own_noun(tokens: Sequence[AnswerToken], start: int, end: int, store: Store) -> bool:
    """`reporting table` and `warehouse system` are names of something else, and no place of data."""
    following = tokens[end].word if end < len(tokens) else ""
    owner = start > 0 and tokens[start - 1].word == "by"
    return store.weak and (owner or following in vocabulary().outputs or following in _SYSTEMS)


def _role(tokens: Sequence[AnswerToken], start: int, store: Store, before: Sequence[Mention]) -> str:
    """Source or sink, by the nearest word of direction before it. `in` and `on` mean the one missing, source first."""
    roles = vocabulary().roles
    known = any(mention.role == "source" for mention in before)
    for at in range(start - 1, -1, -1):
        token = tokens[at]
        if token.text in CLAUSE_ENDS:
            break
        if token.word in roles["either"]:
            return _either(tokens, at, store, before)
        if token.word in roles["source"]:
            return "sink" if store.weak and known else "source"
        if token.word in roles["sink"]:
            return "sink"
    again = next((mention.role for mention in before if mention.store.name == store.name), None)
    return again or ("sink" if store.weak or (known and store.sink is not None) else "source")


def _either(tokens: Sequence[AnswerToken], at: int, store: Store, before: Sequence[Mention]) -> str:
    known = [mention for mention in before if mention.role == "source"]
    last = before[-1] if before else None
    between = tokens[last.end : at] if last is not None else ()
    if last is not None and not between and not store.weak:
        return last.role
    landing = any(token.word in vocabulary().roles["sink"] for token in between)
    if last is not None and not landing and between and between[0].word == "and" and not store.weak:
        return last.role
    if known:
        return "sink"
    return "sink" if store.weak and landing else "source"


def _owner(tokens: Sequence[AnswerToken], start: int, store: Store) -> str | None:
    """`our shop's PostgreSQL`, `the billing database in Postgres`: what it is called."""
    at = start - 1
    if at >= 0 and tokens[at].word in ("in", "on"):
        at -= 1
        if at < 0 or tokens[at].word not in _SYSTEMS:
            at = -1
    while at > 0 and tokens[at].word in _SYSTEMS:
        at -= 1
    if at >= 0 and tokens[at].kind == "word" and (tokens[at].owned or _is_noun(tokens[at])):
        return _plain(tokens[at].word)
    if store.name == "api" and tokens[start].word not in ("api", "rest", "endpoint", "http", "web"):
        return _plain(tokens[start].word)
    return None


def _plain(word: str) -> str:
    return re.sub(r"\W+", "_", word).strip("_")


def _without_forms(found: Sequence[Mention]) -> list[Mention]:
    """`CSV files from SFTP` are one place."""
    others = any(mention.role == "source" and not mention.store.generic and not mention.store.weak for mention in found)
    return [mention for mention in found if not (mention.store.generic and others and mention.role == "source")]


def _without_repeats(found: Sequence[Mention]) -> list[Mention]:
    """Keeps the first mention of a store that is named twice in one role, and drops a mere use beside a real one."""
    kept: list[Mention] = []
    for mention in found:
        kind = mention.store.sink if mention.role == "sink" else mention.store.name
        same = [
            other for other in kept
            if other.role == mention.role and kind == (other.store.sink if other.role == "sink" else other.store.name)
        ]  # fmt: skip
        if any(mention.name is None or other.name in (None, mention.name) for other in same):
            continue
        kept.append(mention)
    named = {mention.role for mention in kept if not mention.store.weak}
    return [
        mention for mention in kept if not (mention.store.weak and mention.role in named and mention.role == "sink")
    ]


# -- names ------------------------------------------------------------------------------------------------------------


def _is_noun(token: AnswerToken) -> bool:
    words = vocabulary()
    others = words.stops | words.dropped | words.verbs | words.roles["source"] | words.roles["sink"]
    return token.kind in ("word", "file") and token.word not in others and token.word not in _FILLERS


_FILLERS = frozenset({
    "and", "production", "prod", "main", "internal", "external", "operational", "please", "hi", "hello", "very",
    "company", "central", "legacy", "managed", "hosted", "cloud", "bucket", "server", "system", "instance", "cluster",
    "time", "seconds", "minutes", "hours", "days", "second", "minute", "hour", "day", "week", "month",
    "year", "night", "kept", "people", "team", "same", "other", "more", "many", "few", "be",
    "s3", "company's", "relational", "rest", "his", "her", "shared", "streaming", "batch", "project", "way",
    "customer's", "analysts", "do", "does", "did", "was", "were", "been", "being", "how", "what", "shows", "show",
})  # fmt: skip


def names_at(tokens: Sequence[AnswerToken], at: int, occupied: Sequence[tuple[int, int]] = ()) -> list[NamedThing]:
    """A list of names from there on: `orders, order lines and the customers table`."""
    words = vocabulary()
    found: list[NamedThing] = []
    current: list[AnswerToken] = []

    def close() -> None:
        if current:
            name = "_".join(_plain_name(token) for token in current)
            if _NAME.fullmatch(name):
                found.append(NamedThing(name, current[0].start, current[-1].end))
            current.clear()

    while at < len(tokens):
        token = tokens[at]
        if any(start <= at < end for start, end in occupied):
            break
        if token.word in ("and", "&") or token.text in ",&":
            close()
        elif token.word == "of" and (not current or current[-1].word in _GENERIC):
            current.clear()
        elif (
            (token.word in _ALWAYS_GENERIC and not current)
            or (at + 1 < len(tokens) and tokens[at + 1].word in _SYSTEMS)
            or (token.word in PERSONAL and token.word not in ("address", "addresses", "card"))
        ):
            pass
        elif (token.kind == "sign" and token.text not in '`"“”') or token.word in words.stops or token.kind == "number":
            break
        elif token.word in words.dropped or token.word in _FILLERS or token.owned:
            pass
        elif token.kind in ("word", "file"):
            current.append(token)
        at += 1
    close()
    return found


_ALWAYS_GENERIC = frozenset({"changes", "change", "version", "versions", "history", "quality", "alerts", "alert"})


def _plain_name(token: AnswerToken) -> str:
    return token.text if token.kind == "file" else token.word


def tables(tokens: Sequence[AnswerToken], found: Sequence[Mention]) -> list[NamedThing]:
    """What is moved: the objects of verbs (`move orders and customers`), and what is called a table or a topic."""
    occupied = [(mention.start, mention.end) for mention in found]
    things: dict[str, NamedThing] = {}
    for at in _beginnings(tokens, found):
        for thing in names_at(tokens, at, occupied):
            things.setdefault(thing.name, thing)
    for token in tokens:
        if token.kind == "file":
            things.setdefault(token.text, NamedThing(token.text, token.start, token.end))
    return sorted(things.values(), key=lambda thing: thing.start)


def _beginnings(tokens: Sequence[AnswerToken], found: Sequence[Mention]) -> Iterator[int]:
    words = vocabulary()
    for at, token in enumerate(tokens):
        if is_negated(tokens, at):
            continue
        following = tokens[at + 1].word if at + 1 < len(tokens) else ""
        if token.word in words.verbs and (at == 0 or tokens[at - 1].word not in _BEFORE_NOUNS):
            yield at + 1
        elif token.word in _TABLE_WORDS and following in _CALLED:
            yield at + 2
        elif token.word in _TABLE_WORDS and at + 1 < len(tokens) and _is_noun(tokens[at + 1]):
            yield at + 1
        elif token.word in _TABLE_WORDS and at and _is_noun(tokens[at - 1]):
            yield _start_of_list(tokens, at, found)
        elif token.word in ("from", "in", "of") and any(0 < mention.start - at <= _REACH for mention in found):
            start = _start_of_list(tokens, at, found)
            if start < at and not _is_part(tokens, start):
                yield start

    for mention in found:
        if mention.role == "source" and mention.end < len(tokens):
            if tokens[mention.end].word in ("has", "have", "holds", "contains"):
                yield mention.end + 1
            elif (
                _is_noun(tokens[mention.end])
                and tokens[mention.end].word.endswith("s")
                and _is_said_plainly(tokens, mention)
            ):
                yield mention.end


def _is_said_plainly(tokens: Sequence[AnswerToken], mention: Mention) -> bool:
    """`our CRM contacts`, and not `a payment in Postgres fails`."""
    before = tokens[mention.start - 1].word if mention.start else ""
    return before in ("our", "the", "all", "my") or before in vocabulary().verbs


_BEFORE_NOUNS = frozenset({"the", "a", "an", "of", "every", "our"})


def _start_of_list(tokens: Sequence[AnswerToken], end: int, found: Sequence[Mention]) -> int:
    start = end
    first = max((mention.end for mention in found if mention.end <= end), default=0)
    while start > first and (
        _is_noun(tokens[start - 1]) or tokens[start - 1].word == "and" or tokens[start - 1].text == ","
    ):
        start -= 1
    while start < end and (tokens[start].word == "and" or tokens[start].text == ","):
        start += 1
    return start


def _is_part(tokens: Sequence[AnswerToken], start: int) -> bool:
    """`prices of products in MySQL`: what comes are the prices."""
    before = [token.word for token in tokens[max(0, start - 2) : start]]
    return before[-1:] == ["of"] and before[0] not in _GENERIC and _is_noun(tokens[start - 2])


def outputs(tokens: Sequence[AnswerToken]) -> list[NamedThing]:
    """What is made of it: `a revenue table`, `a table called daily_revenue`, `a report of sales per region`."""
    words = vocabulary()
    found: dict[str, NamedThing] = {}
    for at, token in enumerate(tokens):
        if token.word.removesuffix("s") not in words.outputs and token.word not in words.outputs:
            continue
        following = tokens[at + 1 : at + 3]
        if len(following) == 2 and following[0].word in (*_CALLED, "of") and following[1].kind == "word":
            thing = names_at(tokens, at + 2)
            if thing and (following[0].word in _CALLED or token.word not in ("table", "tables", "list", "view")):
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
    return _is_noun(token) or (token.word in ("daily", "weekly", "monthly") and token.kind == "word")


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

"""Where data comes from and goes to, and what it is called: the structure of a sentence, as far as it is needed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from snowmelt.design.conversation.addresses import folder_and_files, store_of
from snowmelt.design.conversation.captures import PERSONAL, is_counted_unit
from snowmelt.design.conversation.patterns import matches
from snowmelt.design.conversation.tokens import CLAUSE_ENDS, AnswerToken
from snowmelt.design.conversation.vocabulary import Store, vocabulary

_NEGATIONS = frozenset({"no", "not", "without", "never", "don't", "doesn't", "isn't", "aren't", "nor", "instead",
                        "rather", "neither", "avoid", "don", "cannot", "can't"})  # fmt: skip
_REACH = 3
_NEAR = 2
"""How many words before a phrase a negation may stand."""
_NAME = re.compile(r"[a-z_][a-z0-9_.]*|.*\.(csv|tsv|jsonl?|ndjson|parquet|avro)(\.gz)?")
_TABLE_WORDS = frozenset({"table", "tables", "topic", "topics", "collection", "endpoint", "endpoints"})
CALLED = frozenset({"called", "named"})
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
    address: str | None = None
    """Of a store that is named by a URI: what stands before the path of its files."""
    paths: tuple[str, ...] = ()
    """Files that a URI names in it."""


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
    chosen += [(at, at + 1, named) for at, token in enumerate(tokens) if (named := store_of(token)) is not None]
    for start, end, store in sorted(chosen, key=lambda item: item[0]):
        if is_negated(tokens, start) or _is_own_noun(tokens, start, end, store):
            continue
        if found and _is_form(tokens, found[-1], start, store):
            continue
        role = _role(tokens, start, store, [mention for mention in found if not mention.store.generic])
        if tokens[start].kind == "uri":
            role = _role_of_address(tokens, start, store, found, role)
            address, paths = folder_and_files(tokens[start].text)
            found.append(Mention(store, role, None, start, end, address, paths))
        else:
            found.append(Mention(store, role, _owner(tokens, start, store), start, end))
    return _without_repeats(_posted(_without_forms(found)))


def _role_of_address(
    tokens: Sequence[AnswerToken], at: int, store: Store, before: Sequence[Mention], role: str
) -> str:  # fmt: skip
    """`the files on S3 in s3://lake/events`: the address of what was just named."""
    if before and before[-1].store.name == store.name and at - before[-1].end <= _REACH:
        towards = any(token.word in vocabulary().roles["sink"] for token in tokens[before[-1].end : at])
        return role if towards else before[-1].role
    return role


def _posted(found: Sequence[Mention]) -> list[Mention]:
    """`Stripe sends us webhooks` is one source: who sends them gives it a name."""
    sender = next((item for item in found if item.store.name == "api" and item.role == "source" and item.name), None)
    if sender is None or not any(item.store.name == "webhook" and item.role == "source" for item in found):
        return list(found)
    return [
        replace(item, name=item.name or sender.name, end=sender.end if 0 <= sender.start - item.end <= 1 else item.end)
        if item.store.name == "webhook" else item
        for item in found if item is not sender
    ]  # fmt: skip


def _is_form(tokens: Sequence[AnswerToken], before: Mention, start: int, store: Store) -> bool:
    """`S3 parquet files`, `SFTP servers with CSV files`: in what form the files come."""
    between = [
        token.word for token in tokens[before.end : start] if token.word not in _SYSTEMS | {"servers", "buckets"}
    ]
    return (store.generic or store.name == "parquet") and between in ([], ["with"])


def _is_own_noun(tokens: Sequence[AnswerToken], start: int, end: int, store: Store) -> bool:
    """`reporting table` and `warehouse system` are names of something else, and no place of data."""
    following = tokens[end].word if end < len(tokens) else ""
    owner = start > 0 and tokens[start - 1].word == "by"
    if store.name == "snowflake" and following in ("schema", "shape"):
        return True
    return store.weak and (owner or following in vocabulary().outputs or following in _SYSTEMS)


def _role(tokens: Sequence[AnswerToken], start: int, store: Store, before: Sequence[Mention]) -> str:
    """Source or sink, by the nearest word of direction before it. `in` and `on` mean the one missing, source first."""
    roles = vocabulary().roles
    known = any(mention.role == "source" for mention in before)
    for at in range(start - 1, -1, -1):
        token = tokens[at]
        if token.text in CLAUSE_ENDS:
            break
        if token.word == "and" and start - at <= _NEAR and before and not (store.weak or before[-1].store.weak):
            return before[-1].role
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
    if at >= 0 and tokens[at].kind == "word" and (tokens[at].owned or is_noun(tokens[at])):
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
        if mention.paths or mention.address:
            # `the files on S3, s3://lake/events/*.csv`: the URI says which.
            kept = [replace(item, address=mention.address, paths=mention.paths) if item in same else item
                    for item in kept]  # fmt: skip
        elif (
            mention.name not in (None, mention.store.name)
            and len(same) == 1
            and same[0].name is None
            and mention.start - same[0].end <= _REACH
        ):
            kept = [replace(item, name=mention.name) if item in same else item for item in kept]
        if any(mention.name is None or other.name in (None, mention.name) for other in same):
            continue
        kept.append(mention)
    named = {mention.role for mention in kept if not mention.store.weak}
    return [
        mention for mention in kept if not (mention.store.weak and mention.role in named and mention.role == "sink")
    ]


# -- names ------------------------------------------------------------------------------------------------------------


def is_noun(token: AnswerToken) -> bool:
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
            is_counted_unit(tokens, at)
            or (token.word in _ALWAYS_GENERIC and not current)
            or (at + 1 < len(tokens) and tokens[at + 1].word in _SYSTEMS)
            or (token.word in PERSONAL and token.word not in ("address", "addresses", "card"))
        ):
            pass
        elif token.text == "(" and current:
            # `orders (id, amount) and customers`: the list goes on behind its columns.
            close()
            at = next((end for end in range(at, len(tokens)) if tokens[end].text == ")"), len(tokens))
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


_SENDING = frozenset({"send", "push", "export", "publish", "deliver", "write"})


def is_sending(tokens: Sequence[AnswerToken], at: int, found: Sequence[Mention]) -> bool:
    """`… and send segments back to HubSpot`: what is sent is made of what came from a source named before."""
    if tokens[at].word not in _SENDING:
        return False
    before = any(mention.role == "source" and mention.end <= at and mention.store.name != "snowmelt"
                 for mention in found)  # fmt: skip
    for mention in sorted(found, key=lambda item: item.start):
        if mention.start > at:
            between = {token.word for token in tokens[at : mention.start]}
            return before and mention.role == "sink" and not between & {"from", ".", ";"}
    return False


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
            if not is_sending(tokens, at, found):
                yield at + 1
        elif token.word in _TABLE_WORDS and following in CALLED:
            yield at + 2
        elif token.word in _TABLE_WORDS and at + 1 < len(tokens) and is_noun(tokens[at + 1]):
            yield at + 1
        elif token.word in _TABLE_WORDS and at and is_noun(tokens[at - 1]):
            yield _start_of_list(tokens, at, found)
        elif token.word in ("from", "in", "of") and any(0 < mention.start - at <= _REACH for mention in found):
            start = _start_of_list(tokens, at, found)
            if start < at and not _is_part(tokens, start):
                yield start

    for mention in found:
        if mention.role == "source" and mention.end < len(tokens):
            if tokens[mention.end].word in ("has", "have", "holds", "contains", *_holding(mention)):
                yield mention.end + 1
            elif (
                is_noun(tokens[mention.end])
                and tokens[mention.end].word.endswith("s")
                and _is_said_plainly(tokens, mention)
            ):
                yield mention.end


def _holding(mention: Mention) -> tuple[str, ...]:
    """What stands between a place of files or events and what they are: `webhooks for payments`."""
    if mention.store.name == "webhook":
        return ("for", "about", "of", "with")
    return ("with",) if mention.store.name in ("sftp", "s3", "gcs", "files") else ()


def _is_said_plainly(tokens: Sequence[AnswerToken], mention: Mention) -> bool:
    """`our CRM contacts`, and not `a payment in Postgres fails`."""
    before = tokens[mention.start - 1].word if mention.start else ""
    return before in ("our", "the", "all", "my") or before in vocabulary().verbs


_BEFORE_NOUNS = frozenset({"the", "a", "an", "of", "every", "our"})


def _start_of_list(tokens: Sequence[AnswerToken], end: int, found: Sequence[Mention]) -> int:
    start = end
    first = max((mention.end for mention in found if mention.end <= end), default=0)
    while start > first and (
        is_noun(tokens[start - 1]) or tokens[start - 1].word == "and" or tokens[start - 1].text == ","
    ):
        start -= 1
    while start < end and (tokens[start].word == "and" or tokens[start].text == ","):
        start += 1
    return start


def _is_part(tokens: Sequence[AnswerToken], start: int) -> bool:
    """`prices of products in MySQL`: what comes are the prices."""
    before = [token.word for token in tokens[max(0, start - 2) : start]]
    return before[-1:] == ["of"] and before[0] not in _GENERIC and is_noun(tokens[start - 2])

"""From a description to facts, each with the words it was understood from. Nothing is guessed here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from snowmelt.design.conversation.captures import COUNTED
from snowmelt.design.conversation.language import foreign_language
from snowmelt.design.conversation.mentions import Mention, NamedThing, is_negated, mentions, tables
from snowmelt.design.conversation.naming import columns_behind, outputs, sent_things
from snowmelt.design.conversation.patterns import Matched, matches
from snowmelt.design.conversation.tokens import AnswerToken, tokens_of
from snowmelt.design.conversation.vocabulary import Phrase, vocabulary

_DAY = 86_400


class UnderstoodFact(BaseModel):
    """One fact: where it belongs, what it is, and the words that say so."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    field: str
    value: Any
    words: str
    start: int


def understand(text: str) -> tuple[UnderstoodFact, ...]:
    """In the order of the text. Sources, sinks and the like may be several.

    What there can be one of, and is said in two ways, stands there twice: it is asked which holds. Of the rest the
    first counts.
    """
    tokens = tokens_of(text)
    if foreign_language(tokens) is not None:
        return tuple(_named_alone(text, tokens))
    found = list(_structure(text, tokens, list(_freshness(list(_phrases(text, tokens))))))
    kept: dict[tuple[Any, ...], UnderstoodFact] = {}
    for finding in sorted(found, key=lambda item: item.start):
        several = finding.field in SEVERAL or finding.field in ONE_OF
        kept.setdefault((finding.field, str(finding.value)) if several else (finding.field,), finding)
    return tuple(_settled(sorted(kept.values(), key=lambda item: item.start)))


SEVERAL = frozenset({
    "sources", "sinks", "outputs", "unsupported", "quality.positive", "quality.not_null", "quality.unique",
    "compliance", "columns", "rows",
})  # fmt: skip
ONE_OF = frozenset({
    "latency", "history", "consistency", "availability", "deletes", "pii.present", "pii.strategy", "orchestrator",
    "schedule", "shape", "retention",
})  # fmt: skip
"""Where two values contradict each other."""
_AT_ONCE = 30
_SLOW = 3_600


def _freshness(found: Sequence[UnderstoodFact]) -> Iterator[UnderstoodFact]:
    """Lengths of time say more about freshness than words: "current to the hour" than a "monthly" before it, and "15
    minutes" than "near real time", which an hour is not."""
    exact = [item.value for item in found if item.field == "latency" and isinstance(item.value, float)]
    for item in found:
        word = item.field == "latency" and isinstance(item.value, int)
        if not (word and exact and (item.value != _AT_ONCE or min(exact) < _SLOW)):
            yield item


def _settled(found: Sequence[UnderstoodFact]) -> Iterator[UnderstoodFact]:
    """Without what other facts make void, and with what follows from them."""
    scheduled = next((item for item in found if item.field == "schedule"), None)
    answered = {item.value for item in found if item.field == "pii.present"}
    law = next((item for item in found if item.field == "compliance" and item.value in ("gdpr", "hipaa")), None)
    hidden = next((item for item in found if item.field in ("pii.columns", "pii.strategy")), None)
    for finding in found:
        if scheduled is None or finding.field != "latency":
            yield finding
        elif finding.value < _DAY:
            yield finding
            yield scheduled.model_copy(update={"field": "latency", "value": float(_DAY)})
    # Whoever hides a column, or is under such a law, has personal data, whatever is said beside it.
    shows = (law or hidden) if answered == {False} else law if not answered else None
    if shows is not None:
        yield shows.model_copy(update={"field": "pii.present", "value": True})


# -- phrases ----------------------------------------------------------------------------------------------------------


def _phrases(text: str, tokens: Sequence[AnswerToken]) -> Iterator[UnderstoodFact]:
    """The phrases in a text. Of overlapping ones the longest counts, as it says more."""
    found: list[tuple[Matched, Phrase]] = []
    for phrase in vocabulary().phrases:
        for pattern in phrase.say:
            found += [(match, phrase) for match in matches(pattern, tokens)]
    taken: list[tuple[Matched, Phrase]] = []
    for match, phrase in sorted(found, key=lambda item: (item[0].start - item[0].end, item[0].start)):
        if any(_clash(match, phrase, other, by) for other, by in taken):
            continue
        taken.append((match, phrase))
    for match, phrase in taken:
        if not phrase.plain and is_negated(tokens, match.start):
            continue
        value = _TAKEN[phrase.take](match) if phrase.take is not None else phrase.value
        if value is None or (phrase.context == "personal" and not _is_protected(taken, match)):
            continue
        yield UnderstoodFact(
            field=phrase.field, value=value, words=_words(text, tokens, match), start=tokens[match.start].start
        )


def _clash(match: Matched, phrase: Phrase, other: Matched, by: Phrase) -> bool:
    """Personal data stands inside of phrases that say what becomes of it."""
    overlap = match.start < other.end and other.start < match.end
    return overlap and (phrase.context is None or by.context is not None)


def _is_protected(taken: Sequence[tuple[Matched, Phrase]], match: Matched) -> bool:
    """Names and addresses are personal data where something is said to become of them, and emails always."""
    return any(phrase.field.startswith("pii.") and phrase.context is None and -12 <= match.start - other.start <= 12
               for other, phrase in taken)  # fmt: skip


def _words(text: str, tokens: Sequence[AnswerToken], match: Matched) -> str:
    return text[tokens[match.start].start : tokens[match.end - 1].end]


def _cron(match: Matched, *, evening: bool = False) -> str:
    hour, minute = match.values.get("clock") or match.values["hour"]
    hour += 12 * (evening and hour < 12)
    return f"{minute} {hour} * * * {match.values.get('zone', 'UTC')}"


def _per_second(match: Matched) -> float:
    return float(match.values["counted"]) / float(match.values["interval"])


_TAKEN: dict[str, Callable[[Matched], Any]] = {
    "duration": lambda match: match.values["duration"],
    "per_day": lambda match: match.values["size"] * _DAY / match.values["interval"],
    "per_second": _per_second,
    "counted": lambda match: int(match.values["counted"]),
    "rate": lambda match: match.values["number"] / match.values["interval"],
    "interval": lambda match: match.values["interval"],
    "cron": _cron,
    "evening": lambda match: _cron(match, evening=True),
    "many": lambda match: list(match.values["many"]),
    "size": lambda match: match.values["size"],
    "personal": lambda match: match.values["personal"],
    "column": lambda match: match.values["column"],
    "mail": lambda match: f"email:{match.values['mail']}",
    "channel": lambda match: f"slack:{match.values['channel']}",
    "owner": lambda match: match.values["word"],
    "region": lambda match: match.values["region"],
}


# -- structure --------------------------------------------------------------------------------------------------------


def _structure(
    text: str, tokens: Sequence[AnswerToken], phrases: Sequence[UnderstoodFact]
) -> Iterator[UnderstoodFact]:  # fmt: skip
    """What the phrases say of tables (`rows`) counts for those that are named."""
    every = mentions(tokens)
    sent = sent_things(tokens, every)
    made = [*outputs(tokens), *sent]
    found = [mention for mention in every if not (mention.store.weak and _is_output(tokens, mention, made))]
    things = [thing for thing in tables(tokens, found) if not _inside(thing, made)]
    named = [mention for mention in found if mention.role == "source"]
    sources = [mention for mention in named if mention.store.source is not None]
    if not things and len(sources) == 1 and not sources[0].paths:
        things = [NamedThing(item.value[0], item.start, item.start + len(item.words))
                  for item in phrases if item.field == "rows" and not _is_counted(item)]  # fmt: skip
    yield from (item for item in phrases if item.field != "rows")
    yield from (item for item in phrases if item.field == "rows" and item.value[0] in {thing.name for thing in things})
    for mention, owned in _with_tables(tokens, named, things):
        if mention.store.source is None:
            continue
        value = {"kind": mention.store.source, "name": mention.name, "tables": [*owned, *mention.paths]}
        if mention.address is not None:
            value["address"] = mention.address
        yield UnderstoodFact(
            field="sources", value=value, words=_mention(text, tokens, mention), start=tokens[mention.start].start
        )
    for mention in found:
        known = mention.store.sink if mention.role == "sink" else mention.store.source
        start = tokens[mention.start].start
        if known is None:
            yield UnderstoodFact(field="unsupported", value=f"{mention.role}: {mention.store.name}",
                          words=_mention(text, tokens, mention), start=start)  # fmt: skip
        elif mention.role == "sink":
            yield UnderstoodFact(field="sinks", value=known, words=_mention(text, tokens, mention), start=start)
    words = text[things[0].start : things[-1].end] if things else ""
    if (
        things
        and not named
        and {thing.name for thing in things} <= {token.text for token in tokens if token.kind == "file"}
    ):
        # Names of files say what kind of source they are, though not where.
        value = {"kind": "files", "name": None, "tables": [thing.name for thing in things]}
        yield UnderstoodFact(field="sources", value=value, words=words, start=things[0].start)
    elif not sources and things:
        yield UnderstoodFact(field="tables", value=[thing.name for thing in things],
                      words=words, start=things[0].start)  # fmt: skip
    for thing in made:
        yield UnderstoodFact(field="outputs", value=thing.name, words=text[thing.start : thing.end], start=thing.start)
    for thing in things:
        if (listed := columns_behind(text, thing.end)) is not None:
            yield UnderstoodFact(field="columns", value=[thing.name, listed[0]], words=listed[1], start=thing.start)


def _named_alone(text: str, tokens: Sequence[AnswerToken]) -> Iterator[UnderstoodFact]:
    """Of a text in another language: the one system that it names.

    Which of several is the source, only a grammar knows.
    """
    found = [mention for mention in mentions(tokens) if not (mention.store.weak or mention.store.generic)]
    if len(found) == 1 and found[0].store.source is not None:
        value: dict[str, Any] = {"kind": found[0].store.source, "name": None, "tables": []}
        words, start = _mention(text, tokens, found[0]), tokens[found[0].start].start
        yield UnderstoodFact(field="sources", value=value, words=words, start=start)


def _is_counted(fact: UnderstoodFact) -> bool:
    """`2 million rows` says how many, and not of what."""
    return fact.value[0] in COUNTED


def _is_output(tokens: Sequence[AnswerToken], mention: Mention, made: Sequence[NamedThing]) -> bool:
    """`a bookings report` is what is made, `dashboard of orders` too."""
    start, end = tokens[mention.start].start, tokens[mention.end - 1].end
    return any(start < thing.end and thing.start <= end + len(" of ") for thing in made)


def _inside(thing: NamedThing, others: Sequence[NamedThing]) -> bool:
    return any(thing.start < other.end and other.start < thing.end for other in others)


def _mention(text: str, tokens: Sequence[AnswerToken], mention: Mention) -> str:
    return text[tokens[mention.start].start : tokens[mention.end - 1].end]


def _with_tables(
    tokens: Sequence[AnswerToken], sources: Sequence[Mention], things: Sequence[NamedThing]
) -> Iterator[tuple[Mention, list[str]]]:  # fmt: skip
    """Each table with the source that is named next behind it, or else with the last one before."""
    usable = list(sources)
    owned: dict[int, list[str]] = {index: [] for index in range(len(usable))}
    for thing in things:
        behind = [index for index, mention in enumerate(usable) if tokens[mention.start].start >= thing.start]
        before = [index for index, mention in enumerate(usable) if tokens[mention.start].start < thing.start]
        clear = [i for i in before if not any(token.word in ("from", ",", "and", "with", ";", ".") and
                                              tokens[usable[i].end - 1].end <= token.start < thing.start
                                              for token in tokens)]  # fmt: skip
        index = clear[-1] if clear else behind[0] if behind else before[-1] if before else None
        if index is not None:
            owned[index].append(thing.name)
    for index, mention in enumerate(usable):
        yield mention, owned[index]

"""From a description to facts, each with the words it was understood from. Nothing is guessed here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from snowmelt.design.conversation.mentions import Mention, NamedThing, is_negated, mentions, outputs, tables
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
    """In the order of the text. Of what is said twice, the first counts; sources and sinks may be several."""
    tokens = tokens_of(text)
    found = [*_phrases(text, tokens), *_structure(text, tokens)]
    kept: dict[tuple[Any, ...], UnderstoodFact] = {}
    # "current to the hour" says more about freshness than a "monthly" somewhere before it.
    for finding in sorted(
        found, key=lambda item: (item.field == "latency" and isinstance(item.value, int), item.start)
    ):
        several = finding.field in _SEVERAL
        kept.setdefault((finding.field, str(finding.value)) if several else (finding.field,), finding)
    return tuple(_settled(sorted(kept.values(), key=lambda item: item.start)))


_SEVERAL = frozenset(
    {"sources", "sinks", "outputs", "unsupported", "quality.positive", "quality.not_null", "quality.unique"}
)


def _settled(found: Sequence[UnderstoodFact]) -> Iterator[UnderstoodFact]:
    """Facts that other facts make void: streaming is no recipe of its own where changes are captured."""
    fields = {finding.field: finding for finding in found}
    for finding in found:
        if finding.field == "latency" and "schedule" in fields and finding.value >= _DAY:
            continue
        if finding.field == "pii.columns" and _says_none(fields):
            continue
        yield finding


def _says_none(fields: dict[str, UnderstoodFact]) -> bool:
    said = fields.get("pii.present")
    return said is not None and said.value is False


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


def _cron(match: Matched) -> str:
    hour, minute = match.values["clock"]
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
    "personal": lambda match: match.values["personal"],
    "column": lambda match: match.values["column"],
    "mail": lambda match: f"email:{match.values['mail']}",
    "channel": lambda match: f"slack:{match.values['channel']}",
    "owner": lambda match: match.values["word"],
    "region": lambda match: match.values["region"],
}


# -- structure --------------------------------------------------------------------------------------------------------


def _structure(text: str, tokens: Sequence[AnswerToken]) -> Iterator[UnderstoodFact]:
    made = outputs(tokens)
    found = [mention for mention in mentions(tokens) if not (mention.store.weak and _is_output(tokens, mention, made))]
    things = [thing for thing in tables(tokens, found) if not _inside(thing, made)]
    sources = [mention for mention in found if mention.role == "source" and mention.store.source is not None]
    for mention, kind, named in _with_tables(tokens, sources, things):
        value = {"kind": kind, "name": mention.name, "tables": named}
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
    if not sources and things:
        yield UnderstoodFact(field="tables", value=[thing.name for thing in things],
                      words=text[things[0].start : things[-1].end], start=things[0].start)  # fmt: skip
    for thing in made:
        yield UnderstoodFact(field="outputs", value=thing.name, words=text[thing.start : thing.end], start=thing.start)


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
) -> Iterator[tuple[Mention, str, list[str]]]:  # fmt: skip
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
        assert mention.store.source is not None
        yield mention, mention.store.source, owned[index]

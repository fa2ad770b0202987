"""Parts of phrases that have a value: numbers, durations, sizes, times of day, personal data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from snowmelt.design.conversation.tokens import AnswerToken

Tokens = Sequence[AnswerToken]
Capture = Callable[[Tokens, int], tuple[int, Any] | None]
"""From a position in the tokens: where the part ends, and its value. None where there is no such part."""

_UNITS = {
    "ms": 0.001, "millisecond": 0.001, "milliseconds": 0.001,
    "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "m": 60, "min": 60, "mins": 60, "minute": 60,
    "minutes": 60, "h": 3_600, "hr": 3_600, "hrs": 3_600, "hour": 3_600, "hours": 3_600, "d": 86_400, "day": 86_400,
    "days": 86_400, "night": 86_400, "nights": 86_400, "week": 604_800, "weeks": 604_800, "month": 2_592_000,
    "months": 2_592_000, "quarter": 7_776_000, "year": 31_536_000, "years": 31_536_000,
}  # fmt: skip
_SIZES = {
    "b": 1, "byte": 1, "bytes": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "pb": 10**15,
    "kilobytes": 10**3, "megabyte": 10**6, "megabytes": 10**6, "gigabyte": 10**9, "gigabytes": 10**9,
    "terabyte": 10**12, "terabytes": 10**12, "gig": 10**9, "gigs": 10**9,
}  # fmt: skip
_NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60,
    "ninety": 90, "couple": 2, "dozen": 12, "half": 0.5,
}  # fmt: skip
_MULTIPLES = {"k": 10**3, "hundred": 100, "thousand": 10**3, "million": 10**6, "millions": 10**6, "mio": 10**6,
              "mn": 10**6, "billion": 10**9, "bn": 10**9}  # fmt: skip
_VAGUE = frozenset({"about", "around", "roughly", "approximately", "circa", "some", "maybe", "perhaps", "up", "to",
                    "at", "most", "least", "almost", "nearly", "over", "than", "more", "less", "fewer"})  # fmt: skip
_EACH = frozenset({"a", "an", "per", "every", "each", "the"})
COUNTED = frozenset({"rows", "row", "records", "record", "events", "event", "messages", "lines", "documents",
                      "changes", "orders", "clicks", "transactions", "readings", "entries", "items"})  # fmt: skip
PERSONAL = {
    "email": "email", "emails": "email", "mails": "email", "phone": "phone", "phones": "phone", "telephone": "phone",
    "name": "name", "names": "name", "address": "address", "addresses": "address", "ssn": "ssn", "ssns": "ssn",
    "iban": "iban", "ibans": "iban", "birthday": "birth_date", "birthdays": "birth_date", "birthdates": "birth_date",
    "passport": "passport", "passports": "passport", "ip": "ip_address", "ips": "ip_address",
    "card": "card_number", "cards": "card_number",
}  # fmt: skip
_FILLS_PERSONAL = frozenset({"addresses", "address", "numbers", "number", "customer", "customers", "their", "the",
                             "all", "user", "patient", "patients", "home", "full", "of", "birth", "dates", "credit",
                             "e", "mail"})  # fmt: skip


def is_counted_unit(tokens: Tokens, at: int) -> bool:
    """Whether an amount is counted in it: `50 GB`, `five years`."""
    before = tokens[at - 1] if at else None
    known = tokens[at].word in _UNITS or tokens[at].word in _SIZES
    return known and before is not None and (before.kind == "number" or before.word in _NUMBERS)


def number(tokens: Tokens, at: int) -> tuple[int, float] | None:
    """`five`, `1,000`, `about a million`, `10k`, `half a million`, `a couple of`."""
    start = at
    while at < len(tokens) and tokens[at].word in _VAGUE:
        at += 1
    if at >= len(tokens):
        return None
    found = tokens[at]
    value = found.number if found.number is not None else _NUMBERS.get(found.word)
    if value is None and found.word in ("a", "an", "several", "few") and at + 1 < len(tokens):
        following = tokens[at + 1].word
        if following in _MULTIPLES and following != "k":
            value, found = 1.0, tokens[at]
        elif following in ("couple", "dozen"):
            value, at = float(_NUMBERS[following]), at + 1
    if value is None:
        return None
    at += 1
    while at < len(tokens) and (tokens[at].word in _MULTIPLES or _is_million(tokens, at)):
        value, at = value * _MULTIPLES.get(tokens[at].word, 10**6), at + 1
    if found.word == "half" and at + 1 < len(tokens) and tokens[at].word in ("a", "an"):
        if tokens[at + 1].word in _MULTIPLES:
            return at + 2, value * _MULTIPLES[tokens[at + 1].word]
        return at + 1, value
    if at < len(tokens) and tokens[at].word == "of" and tokens[at - 1].word in ("couple", "dozen"):
        at += 1
    return (at, float(value)) if at > start else None


def _is_million(tokens: Tokens, at: int) -> bool:
    """`2M rows`, where `5m` alone would be minutes."""
    counted = at + 1 < len(tokens) and tokens[at + 1].word in COUNTED
    return tokens[at].word == "m" and tokens[at].start == tokens[at - 1].end and (tokens[at].text == "M" or counted)


def duration(tokens: Tokens, at: int) -> tuple[int, float] | None:
    """`five minutes`, `an hour`, `half an hour`, `a quarter of an hour`, `15min`: in seconds."""
    words = [token.word for token in tokens[at : at + 6]]
    for skipped, _ in enumerate(words):
        begins = skipped + (words[skipped] == "a")
        if words[begins : begins + 4] == ["quarter", "of", "an", "hour"]:
            return at + begins + 4, 900.0
        if words[skipped] not in _VAGUE:
            break
    found = number(tokens, at)
    if found is not None and found[0] < len(tokens) and tokens[found[0]].word in _UNITS:
        return found[0] + 1, found[1] * _UNITS[tokens[found[0]].word]
    while at < len(tokens) and tokens[at].word in _VAGUE:
        at += 1
    if at + 1 < len(tokens) and tokens[at].word in ("a", "an", "the", "one") and tokens[at + 1].word in _UNITS:
        return at + 2, float(_UNITS[tokens[at + 1].word])
    return None


def size(tokens: Tokens, at: int) -> tuple[int, float] | None:
    found = number(tokens, at)
    if found is None or found[0] >= len(tokens) or tokens[found[0]].word not in _SIZES:
        return None
    return found[0] + 1, found[1] * _SIZES[tokens[found[0]].word]


def counted(tokens: Tokens, at: int) -> tuple[int, float] | None:
    """`2 million rows`, `50k new orders`: how many of something that is a row."""
    found = number(tokens, at)
    if found is None:
        return None
    end = found[0]
    while end < len(tokens) and tokens[end].word in ("new", "changed", "small", "json", "of"):
        end += 1
    return (end + 1, found[1]) if end < len(tokens) and tokens[end].word in COUNTED else None


def interval(tokens: Tokens, at: int) -> tuple[int, float] | None:
    """`a day`, `per second`, `/s`, `daily`: what an amount is counted over, in seconds."""
    if at >= len(tokens):
        return None
    words = {"daily": 86_400.0, "nightly": 86_400.0, "hourly": 3_600.0, "weekly": 604_800.0, "monthly": 2_592_000.0}
    if tokens[at].word in words:
        return at + 1, words[tokens[at].word]
    if (tokens[at].word in _EACH or tokens[at].text == "/") and at + 1 < len(tokens):
        unit = _UNITS.get(tokens[at + 1].word)
        return (at + 2, float(unit)) if unit is not None else None
    return None


def clock(tokens: Tokens, at: int) -> tuple[int, tuple[int, int]] | None:
    """`6 am`, `6:30`, `18:00`, `midnight`, `noon`, `6 o'clock`."""
    if at >= len(tokens):
        return None
    found = tokens[at]
    if found.word in ("midnight", "noon"):
        return at + 1, (0 if found.word == "midnight" else 12, 0)
    if found.kind == "clock":
        hour, minute = map(int, found.text.split(":"))
        end = at + 1
    elif found.number is not None and found.number == int(found.number) and found.number < 24:
        hour, minute, end = int(found.number), 0, at + 1
    else:
        return None
    words = [token.word for token in tokens[end : end + 2]]
    if words == ["o", "clock"] or words[:1] == ["oclock"]:
        return end + (2 if words[0] == "o" else 1), (hour, minute)
    half = words[0] if words else ""
    if half in ("am", "pm", "a.m", "p.m"):
        return end + 1, (hour % 12 + (12 if half[0] == "p" else 0), minute)
    return (end, (hour, minute)) if found.kind == "clock" else None


def hour(tokens: Tokens, at: int) -> tuple[int, tuple[int, int]] | None:
    """A time of day where one must stand: `every night at 2`, beside all that is one anywhere."""
    found = clock(tokens, at)
    if found is not None or at >= len(tokens):
        return found
    value = tokens[at].number
    following = tokens[at + 1].word if at + 1 < len(tokens) else ""
    if value is None or value != int(value) or value > _LAST_HOUR or following in (*_UNITS, *_SIZES, *_MULTIPLES, "%"):
        return None
    return at + 1, (int(value), 0)


_LAST_HOUR = 23


def many(tokens: Tokens, at: int) -> tuple[int, tuple[str, int]] | None:
    """`2 million contacts`, `40,000 open tickets`: how many there are of something."""
    found = number(tokens, at)
    if found is None or found[1] < _FEW or tokens[at].word in _VAGUE - {"about", "around", "roughly", "some"}:
        return None
    end = found[0]
    while end < len(tokens) and tokens[end].word in _ADJECTIVES:
        end += 1
    if end >= len(tokens) or tokens[end].kind != "word" or not tokens[end].word.endswith("s"):
        return None
    word = tokens[end].word
    return None if word in _UNITS or word in _SIZES or word in _NO_ROWS else (end + 1, (word, int(found[1])))


_FEW = 1000
"""Fewer than that are not said because of how many they are."""
_ADJECTIVES = frozenset({"new", "changed", "small", "json", "of", "open", "old", "active", "existing", "different"})
_NO_ROWS = frozenset({"requests", "calls", "schemas", "tenants", "files", "tables", "columns", "users'", "euros",
                      "dollars", "this", "is", "has", "was", "as", "its", "times", "connections"})  # fmt: skip


def personal(tokens: Tokens, at: int) -> tuple[int, list[str]] | None:
    """`emails`, `customer names and phone numbers`: the columns that are meant."""
    found: list[str] = []
    end = at
    while at < len(tokens):
        word = tokens[at].word
        if word == "birth" and at + 1 < len(tokens) and tokens[at + 1].word in ("date", "dates"):
            found.append("birth_date")
            at = end = at + 2
        elif word in ("date", "dates") and [token.word for token in tokens[at + 1 : at + 3]] == ["of", "birth"]:
            found.append("birth_date")
            at = end = at + 3
        elif word in PERSONAL and not (word in ("address", "addresses") and found and tokens[at - 1].word in
                                       ("email", "mail", "ip")):  # fmt: skip
            found.append(PERSONAL[word])
            at = end = at + 1
        elif word == "e" and at + 1 < len(tokens) and tokens[at + 1].word in ("mail", "mails"):
            found.append("email")
            at = end = at + 2
        elif word in _FILLS_PERSONAL:
            at += 1
            end = at if found and word in ("address", "addresses", "number", "numbers") else end
        elif found and (word in ("and", "or") or tokens[at].text in ",&/"):
            at += 1
        else:
            break
    return (end, list(dict.fromkeys(found))) if found else None


_ZONES = {
    "utc": "UTC", "gmt": "UTC", "berlin": "Europe/Berlin", "german": "Europe/Berlin", "cet": "Europe/Berlin",
    "paris": "Europe/Paris", "london": "Europe/London", "york": "America/New_York", "eastern": "America/New_York",
    "pacific": "America/Los_Angeles", "tokyo": "Asia/Tokyo", "zurich": "Europe/Zurich", "vienna": "Europe/Vienna",
    "madrid": "Europe/Madrid", "chicago": "America/Chicago", "sydney": "Australia/Sydney",
}  # fmt: skip


def zone(tokens: Tokens, at: int) -> tuple[int, str] | None:
    """`UTC`, `Berlin time`, `in New York`: the name that cron knows."""
    while at < len(tokens) and tokens[at].word in ("in", "new", "the"):
        at += 1
    found = _ZONES.get(tokens[at].word) if at < len(tokens) else None
    if found is None:
        return None
    return (at + 2 if at + 1 < len(tokens) and tokens[at + 1].word == "time" else at + 1), found


def word(tokens: Tokens, at: int) -> tuple[int, str] | None:
    return (at + 1, tokens[at].word) if at < len(tokens) and tokens[at].kind in ("word", "file") else None


def _of_kind(kind: str) -> Capture:
    def found(tokens: Tokens, at: int) -> tuple[int, str] | None:
        return (at + 1, tokens[at].text) if at < len(tokens) and tokens[at].kind == kind else None

    return found


def column(tokens: Tokens, at: int) -> tuple[int, str] | None:
    """`amount`, `the order number`: a column's name, as SQL would write it."""
    until = min(len(tokens), at + _MOST_ARTICLES)
    while at < until and tokens[at].word in ("the", "a", "an", "its", "their", "every", "each", "all", "of"):
        at += 1
    found: list[str] = []
    while at < len(tokens) and tokens[at].kind == "word" and tokens[at].word not in NOT_COLUMNS and len(found) < 3:
        found.append(tokens[at].word)
        at += 1
    return (at, "_".join(found)) if found else None


_MOST_ARTICLES = 4
"""Before a name: `each of all the orders`. Without an end, long texts would be read again from each of their words."""
NOT_COLUMNS = frozenset({
    "is", "are", "be", "must", "may", "should", "can", "has", "have", "never", "always", "not", "and", "or", "by",
    "per", "from", "for", "in", "on", "with", "to", "of", "the", "a", "an", "no", "than", "only", "between",
    "greater", "less",
    "positive", "negative", "unique", "empty", "null", "missing", "every", "each", "into", "that", "which",
    "if", "we",
    "tells", "says", "shows", "cannot", "can't", "mustn't", "isn't", "fresh", "within", "so", "when", "at", "as",
    "it", "they",
})  # fmt: skip

CAPTURES: dict[str, Capture] = {
    "number": number, "duration": duration, "size": size, "counted": counted, "interval": interval, "clock": clock,
    "hour": hour, "many": many,
    "personal": personal, "word": word, "column": column, "mail": _of_kind("mail"), "channel": _of_kind("channel"),
    "region": _of_kind("region"), "zone": zone,
}  # fmt: skip

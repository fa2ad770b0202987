"""Plain answers: yes and no, times, amounts, columns, rules of quality, sums by something."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from snowmelt.design.conversation.captures import counted, duration, interval, number, size
from snowmelt.design.conversation.state import NotUnderstoodError
from snowmelt.design.conversation.tokens import tokens_of
from snowmelt.govern.pii.classes import by_name

_YES = frozenset({"yes", "y", "yep", "yeah", "sure", "true", "correct", "right", "exactly", "ok", "okay", "please",
                  "do", "agreed", "fine", "ja"})  # fmt: skip
_NO = frozenset({"no", "n", "nope", "none", "nothing", "never", "false", "not", "neither", "nobody", "nein", "don't"})
_UNSURE = ("don't know", "dont know", "no idea", "not sure", "skip", "unsure", "whatever", "you decide", "?", "default",
           "as proposed", "as you propose", "unknown")  # fmt: skip
_DAY = 86_400
_TYPES = {
    "text": "VARCHAR", "string": "VARCHAR", "varchar": "VARCHAR", "char": "VARCHAR", "int": "NUMBER(38,0)",
    "integer": "NUMBER(38,0)", "bigint": "NUMBER(38,0)", "number": "NUMBER(38,0)", "decimal": "NUMBER(12,2)",
    "money": "NUMBER(12,2)", "numeric": "NUMBER(12,2)", "float": "FLOAT", "double": "FLOAT", "date": "DATE",
    "timestamp": "TIMESTAMP_NTZ", "datetime": "TIMESTAMP_NTZ", "time": "TIME", "bool": "BOOLEAN", "boolean": "BOOLEAN",
    "json": "VARIANT", "variant": "VARIANT", "uuid": "VARCHAR",
}  # fmt: skip
_BY_NAME = (
    (r"(id|.*_id|.*_no|count|quantity|qty|number|age|.*_count)", "NUMBER(38,0)"),
    (r".*(amount|price|total|revenue|cost|balance|sum|tax|fee|salary|discount|value)s?", "NUMBER(12,2)"),
    (r"(.*_(at|time|ts)|timestamp|ts|time)", "TIMESTAMP_NTZ"),
    (r"(.*_(date|day|on)|date|day)", "DATE"),
    (r"(is|has)_.*", "BOOLEAN"),
)
_COLUMN = re.compile(r"[a-z_][a-z0-9_$]*", re.IGNORECASE)


def is_unsure(answer: str) -> bool:
    plain = answer.strip().lower().rstrip(".!")
    return not plain or any(plain == word or (len(word) > 5 and word in plain) for word in _UNSURE)


def yes_or_no(answer: str) -> bool | None:
    """True for yes, False for no, by the first word that says either; None if none does."""
    for token in tokens_of(answer):
        if token.word in _NO:
            return False
        if token.word in _YES:
            return True
    return None


def choice_of(answer: str, choices: Sequence[str], also: dict[str, str] | None = None) -> str:
    """One of the choices, by its words or by other words for it. Raises NotUnderstoodError, naming them."""
    plain = " ".join(token.word for token in tokens_of(answer))
    compact = answer.strip().lower().replace(" ", "_")
    for word in choices:
        if compact == word.lower() or plain == word.lower().replace("_", " "):
            return word
    if answer.strip().isdigit() and 1 <= int(answer.strip()) <= len(choices):
        return choices[int(answer.strip()) - 1]
    for said, word in {**{word.lower().replace("_", " "): word for word in choices}, **(also or {})}.items():
        if re.search(rf"\b{re.escape(said)}\b", plain):
            return word
    raise NotUnderstoodError(f"'{answer}' is not one of {', '.join(choices)}.")


def seconds_of_answer(answer: str) -> float | None:
    tokens = tokens_of(answer)
    for at in range(len(tokens)):
        if (found := duration(tokens, at)) is not None:
            return found[1]
    return None


def volume_of(answer: str) -> dict[str, float]:
    """`2 GB`, `about a million rows`, `20k events per second`: what comes in a day, unless it says otherwise."""
    tokens = tokens_of(answer)
    for at in range(len(tokens)):
        if (found := size(tokens, at)) is not None:
            over = interval(tokens, found[0])
            return {"per_day": found[1] * _DAY / (over[1] if over else _DAY)}
        if (found := counted(tokens, at) or number(tokens, at)) is not None:
            over = interval(tokens, found[0])
            return {"events_per_second": found[1] / (over[1] if over else _DAY)}
    raise NotUnderstoodError(
        f"'{answer}' is not an amount: write 2 GB, about a million rows, or 500 events per second."
    )


def names_of_answer(answer: str) -> list[str]:
    """Names between commas and "and"."""
    parts = re.split(r",|;|\band\b|&|\n", answer)
    words = [
        re.sub(r"^(the|table|tables|column|columns|topic|topics)\s+", "", part.strip(), flags=re.I) for part in parts
    ]
    return [
        re.sub(r"\s+(table|tables|column|columns|topic)$", "", word, flags=re.I).strip("`\"' .")
        for word in words
        if word
    ]


def columns_of(answer: str) -> list[dict[str, Any]]:
    """`id, amount decimal, email, updated_at`: columns with their types, by their names where none is written."""
    found = []
    for part in re.split(r",(?![^(]*\))|;|\n|\band\b", answer):
        words = part.strip().strip(".").split(None, 1)
        if not words:
            continue
        name = words[0].strip("`\"'")
        if not _COLUMN.fullmatch(name):
            raise NotUnderstoodError(
                f"'{name}' is not a column's name. Write them like: id, amount decimal, updated_at."
            )
        found.append({"name": name, "type": _type(name, words[1] if len(words) > 1 else ""), **_personal(name)})
    if not found:
        raise NotUnderstoodError("Write the columns like: id, amount decimal, updated_at.")
    return found


def _type(name: str, written: str) -> str:
    word = written.strip().lower()
    plain = next(iter(word.partition("(")[0].split()), "")
    if plain in _TYPES:
        return word.upper() if "(" in word and plain not in ("decimal", "numeric") else _TYPES[plain]
    if plain in ("timestamp_ntz", "timestamp_ltz", "timestamp_tz"):
        return plain.upper()
    return next((type_ for pattern, type_ in _BY_NAME if re.fullmatch(pattern, name.lower())), "VARCHAR")


def _personal(name: str) -> dict[str, bool]:
    return {"pii": True} if by_name(name) is not None else {}


def singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def column_named(word: str, columns: Sequence[str]) -> str | None:
    """The column that is meant by a word: `amounts` is amount, `customer` is customer_id, `email` is email_address."""
    plain = re.sub(r"\W+", "_", word.strip().lower()).strip("_")
    by_fold = {column.lower(): column for column in columns}
    for said in (plain, singular(plain), f"{singular(plain)}_id", f"{singular(plain)}_no", f"{singular(plain)}_name"):
        if said in by_fold:
            return by_fold[said]
    return next((column for fold, column in by_fold.items() if len(plain) > 2 and singular(plain) in fold), None)

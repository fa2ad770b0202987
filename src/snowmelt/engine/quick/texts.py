"""Functions of texts, on the quick lane's list."""

from __future__ import annotations

from collections.abc import Sequence

from snowmelt.engine.quick.casts import cast
from snowmelt.engine.quick.types import BINARY, BOOLEAN, INT, STRING, NotQuick, SparkType
from snowmelt.engine.quick.values import Function, Value, guarded, repeatable, typed

_MOST_REPEATED = 10_000


def _texts(pattern: str, result: SparkType, count: int = 1) -> Function:
    """A function of texts, in which {0}, {1} … stand for them."""

    def function(arguments: Sequence[Value]) -> Value:
        given = typed(arguments, *[STRING] * count)
        return Value(pattern.format(*(argument.sql for argument in given)), result)

    return function


def _ascii(name: str) -> Function:
    def function(arguments: Sequence[Value]) -> Value:
        (text,) = typed(arguments, STRING)
        return Value(f"{name}({in_ascii(text)})", STRING)

    return function


def in_ascii(text: Value) -> str:
    """The text, if all of its letters are ASCII's: the others have rules of their own in each engine."""
    sql = repeatable(text)
    return guarded(f"{sql} IS NULL OR strlen({sql}) = length({sql})", sql, "letters", STRING).sql


def _trimmed(name: str) -> Function:
    def function(arguments: Sequence[Value]) -> Value:
        if len(arguments) == 1:
            (text,) = typed(arguments, STRING)
            return Value(f"{name}({text.sql}, ' ')", STRING)
        characters, text = typed(arguments, STRING, STRING)
        if name == "trim":
            characters, text = text, characters
        if not characters.text:
            raise NotQuick(f"{name} of characters that are no literal")
        return Value(f"{name}({text.sql}, {characters.sql})", STRING)

    return function


def _substring(arguments: Sequence[Value]) -> Value:
    text, *indexes = arguments
    numbers = [index.number for index in indexes]
    if text.type != STRING or not numbers or any(number is None for number in numbers):
        raise NotQuick("substring by what are no literals")
    start, *length = [number for number in numbers if number is not None]
    if start < 1 or any(number < 0 for number in length):
        raise NotQuick("substring from the end")
    more = "".join(f", {number}" for number in length)
    return Value(f"substring({text.sql}, {start}{more})", STRING)


def _left(arguments: Sequence[Value]) -> Value:
    text, length = arguments
    if text.type != STRING or length.number is None or length.number < 0:
        raise NotQuick("left by what is no literal")
    return Value(f"left({text.sql}, {length.number})", STRING)


def _concat(arguments: Sequence[Value]) -> Value:
    if STRING not in [argument.type for argument in arguments]:
        raise NotQuick("concat of what are no texts")
    texts = [cast(argument, STRING) if argument.type.is_integer else argument for argument in arguments]
    typed(texts, *[STRING] * len(texts))
    return Value("(" + " || ".join(text.sql for text in texts) + ")", STRING)


def _replace(arguments: Sequence[Value]) -> Value:
    text, search, other = typed(arguments, STRING, STRING, STRING)
    if not search.text:
        raise NotQuick("replace of what is no literal")
    return Value(f"replace({text.sql}, {search.sql}, {other.sql})", STRING)


def _split_part(arguments: Sequence[Value]) -> Value:
    text, separator, number = arguments
    if text.type != STRING or not separator.text or number.number is None or number.number < 1:
        raise NotQuick("split_part by what are no literals")
    return Value(f"split_part({text.sql}, {separator.sql}, {number.number})", STRING)


def _locate(arguments: Sequence[Value]) -> Value:
    part, text = typed(arguments, STRING, STRING)
    if not part.text:
        raise NotQuick("locate of what is no literal")
    return Value(f"CAST(position({part.sql} IN {text.sql}) AS INTEGER)", INT)


def _padded(name: str) -> Function:
    def function(arguments: Sequence[Value]) -> Value:
        text, length, padding = arguments
        if text.type != STRING or not padding.text or length.number is None or length.number < 0:
            raise NotQuick(f"{name} by what are no literals")
        return Value(f"{name}({text.sql}, {length.number}, {padding.sql})", STRING)

    return function


def _repeat(arguments: Sequence[Value]) -> Value:
    text, count = arguments
    if text.type != STRING or count.number is None or not 0 <= count.number <= _MOST_REPEATED:
        raise NotQuick("repeat by what is no literal")
    return Value(f"repeat({text.sql}, {count.number})", STRING)


def _joined(arguments: Sequence[Value]) -> Value:
    separator, *texts = typed(arguments, *[STRING] * len(arguments))
    if separator.text is None or not texts:
        raise NotQuick("concat_ws of this kind")
    return Value(f"concat_ws({separator.sql}, {', '.join(text.sql for text in texts)})", STRING)


def _hashed(name: str) -> Function:
    def function(arguments: Sequence[Value]) -> Value:
        value, *bits = arguments
        if value.type not in (STRING, BINARY) or any(number.number != 256 for number in bits):
            raise NotQuick(f"{name} of this kind")
        return Value(f"{name}({cast(value, BINARY).sql})", STRING)

    return function


def _hex(arguments: Sequence[Value]) -> Value:
    (value,) = typed(arguments, BINARY)
    return Value(f"hex({value.sql})", STRING)


def _like(pattern: str) -> Function:
    return _texts(pattern, BOOLEAN, 2)


TEXTS: dict[str, Function] = {
    "btrim": _trimmed("trim"),
    "char_length": _texts("CAST(length({0}) AS INTEGER)", INT),
    "concat": _concat,
    "concat_ws": _joined,
    "contains": _like("contains({0}, {1})"),
    "endswith": _like("suffix({0}, {1})"),
    "hex": _hex,
    "left": _left,
    "length": _texts("CAST(length({0}) AS INTEGER)", INT),
    "locate": _locate,
    "lower": _ascii("lower"),
    "lpad": _padded("lpad"),
    "ltrim": _trimmed("ltrim"),
    "md5": _hashed("md5"),
    "repeat": _repeat,
    "replace": _replace,
    "reverse": _ascii("reverse"),
    "rpad": _padded("rpad"),
    "rtrim": _trimmed("rtrim"),
    "sha1": _hashed("sha1"),
    "sha2": _hashed("sha256"),
    "split_part": _split_part,
    "startswith": _like("prefix({0}, {1})"),
    "substring": _substring,
    "trim": _trimmed("trim"),
    "upper": _ascii("upper"),
}
"""By Spark's name."""

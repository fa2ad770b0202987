"""Which of several functions or procedures of one name a call means.

The number of arguments decides first, then each argument's type: its own type before any that it converts to, and of
those the first in the order of Snowflake's internal type names. Some conversions count as a last resort.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.types import TIMESTAMPS, DataType, Kind

_ORDER = (
    Kind.ARRAY, Kind.BINARY, Kind.BOOLEAN, Kind.DATE, Kind.NUMBER, Kind.OBJECT, Kind.FLOAT, Kind.VARCHAR, Kind.TIME,
    Kind.TIMESTAMP_LTZ, Kind.TIMESTAMP_NTZ, Kind.TIMESTAMP_TZ, Kind.VARIANT,
)  # fmt: skip
_RANK = {kind: rank for rank, kind in enumerate(_ORDER)}
_EVERYTHING = frozenset(_ORDER)
_TIMES = TIMESTAMPS | {Kind.DATE, Kind.TIME}
_CONVERTS: dict[Kind, frozenset[Kind]] = {
    Kind.NULL: _EVERYTHING,
    Kind.VARIANT: _EVERYTHING,
    Kind.VARCHAR: _TIMES | {Kind.BOOLEAN, Kind.NUMBER, Kind.FLOAT, Kind.VARIANT},
    Kind.NUMBER: frozenset({Kind.BOOLEAN, Kind.FLOAT, Kind.VARCHAR, Kind.VARIANT}),
    Kind.FLOAT: frozenset({Kind.BOOLEAN, Kind.NUMBER, Kind.VARCHAR, Kind.VARIANT}),
    Kind.BOOLEAN: frozenset({Kind.VARCHAR, Kind.VARIANT}),
    Kind.DATE: TIMESTAMPS | {Kind.VARCHAR, Kind.VARIANT},
    Kind.TIME: frozenset({Kind.VARCHAR, Kind.VARIANT}),
    Kind.ARRAY: frozenset({Kind.VARIANT}),
    Kind.OBJECT: frozenset({Kind.VARIANT, Kind.ARRAY}),
    Kind.BINARY: frozenset({Kind.VARCHAR, Kind.VARIANT}),
    **dict.fromkeys(TIMESTAMPS, _TIMES | {Kind.VARCHAR, Kind.VARIANT}),
}
_LAST_RESORT = frozenset({(Kind.NUMBER, Kind.VARCHAR), (Kind.FLOAT, Kind.NUMBER), (Kind.VARCHAR, Kind.NUMBER)})
_CONVERSION, _RESORT = 100, 10_000
"""What a conversion and a last resort cost: one of the latter outweighs any number of the former."""


@dataclass(frozen=True, slots=True)
class Signature:
    arguments: tuple[tuple[str, DataType], ...]
    optional: frozenset[str] = frozenset()
    """The arguments that have a default."""


def choose(
    name: str, call: str, signatures: Sequence[Signature], given: Sequence[DataType], named: Mapping[str, DataType]
) -> int:
    """The index of the signature that a call with these argument types means; an error when there is none.

    `name` and `call` are the routine's name and the call as written, for the message.
    """
    fitting = [index for index, item in enumerate(signatures) if _fits(item, len(given), named)]
    if not fitting:
        raise _wrong_count(name, call, signatures, given, named)
    costs = {index: _cost(signatures[index], given, named) for index in fitting}
    best = min(fitting, key=lambda index: (costs[index] is None, costs[index] or 0, _ranks(signatures[index])))
    if costs[best] is None:
        raise errors.invalid_argument_types(name, ", ".join(_shown(type_) for type_ in (*given, *named.values())))
    return best


def _fits(signature: Signature, positional: int, named: Mapping[str, DataType]) -> bool:
    names = [name for name, _ in signature.arguments]
    rest = names[positional:]
    return (
        positional <= len(names)
        and all(name in rest for name in named)
        and all(name in named or name in signature.optional for name in rest)
    )


def _cost(signature: Signature, given: Sequence[DataType], named: Mapping[str, DataType]) -> int | None:
    wanted = dict(signature.arguments)
    pairs = [(have, want) for have, (_, want) in zip(given, signature.arguments, strict=False)]
    pairs += [(have, wanted[name]) for name, have in named.items()]
    total = 0
    for have, want in pairs:
        if have.kind is want.kind:
            continue
        if want.kind not in _CONVERTS[have.kind]:
            return None
        total += _CONVERSION + _RANK[want.kind]
        total += _RESORT if (have.kind, want.kind) in _LAST_RESORT else 0
    return total


def _ranks(signature: Signature) -> list[int]:
    return [_RANK.get(type_.kind, len(_ORDER)) for _, type_ in signature.arguments]


def _wrong_count(
    name: str, call: str, signatures: Sequence[Signature], given: Sequence[DataType], named: Mapping[str, DataType]
) -> SnowmeltError:
    count = len(given) + len(named)
    least = min(len(item.arguments) - len(item.optional) for item in signatures)
    most = max(len(item.arguments) for item in signatures)
    if count < least:
        return errors.not_enough_arguments(call, least, count)
    if count > most:
        return errors.too_many_arguments(call, most, count)
    known = {argument for item in signatures for argument, _ in item.arguments}
    for argument in named:
        if argument not in known:
            return errors.compilation("001044", "42P13", f"Invalid argument name '{argument}' for function '{name}'.")
    return errors.invalid_argument_types(name, ", ".join(_shown(type_) for type_ in (*given, *named.values())))


def _shown(type_: DataType) -> str:
    return "NULL" if type_.kind is Kind.NULL else str(type_)

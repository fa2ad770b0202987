"""Texts with a collation: by what they are compared, which of several collations counts, which functions take them.

A column says by which rules its texts are compared, or COLLATE behind a value does. Whatever compares, sorts or gathers
such texts takes a key in their place (`row_keys.key_of`), which is a text to both engines and every incremental rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from snowmelt.core import collations, errors
from snowmelt.core.types import DataType, Kind
from snowmelt.sql.bound import Bound
from snowmelt.sql.building import constant_text
from snowmelt.sql.dialect import call, string
from snowmelt.sql.functions.registry import Function, FunctionKind

_COMPARING = frozenset({"NULLIF", "EQUAL_NULL"})
"""Functions that compare their arguments with each other. Those of one common type need no mention."""
_MATCHING = frozenset({"CONTAINS", "STARTSWITH", "ENDSWITH", "LIKE", "ILIKE"})
"""Functions that look for one text in another: by large or small or trimmed texts they can, by a locale they can't."""
_REFUSED = frozenset({
    "CHARINDEX", "POSITION", "REPLACE", "SPLIT", "SPLIT_PART", "STRTOK", "STRTOK_TO_ARRAY", "TRANSLATE", "REGEXP",
    "REGEXP_COUNT", "REGEXP_EXTRACT_ALL", "REGEXP_INSTR", "REGEXP_LIKE", "REGEXP_REPLACE", "REGEXP_SUBSTR",
    "REGEXP_SUBSTR_ALL", "RLIKE", "LIKE_REGEX", "EDITDISTANCE", "JAROWINKLER_SIMILARITY", "SEARCH", "MINHASH",
    "APPROX_TOP_K_ACCUMULATE",
    "ARRAY_CONTAINS", "ARRAY_POSITION",
})  # fmt: skip
"""Functions that look for texts in texts, or count equal ones, in ways that know no collation."""
_TRIMMING = frozenset({"TRIM", "LTRIM", "RTRIM"})


def key(value: exp.Expr, specification: str) -> exp.Expr:
    """What compares as the text does under the collation."""
    collation = collations.parse(specification)
    tree = _prepared(value, collation)
    if collation.locale is None:
        return tree
    return call("snowmelt_sort_key", tree, string(f"{collation.locale}:{collation.levels}"))


def _prepared(value: exp.Expr, collation: collations.Collation) -> exp.Expr:
    text = constant_text(value)
    if text is not None and text.isascii():
        return string(_as_compared(text, collation))
    tree = call(collation.trim, value.copy()) if collation.trim else value.copy()
    return call(collation.letters, tree) if collation.letters else tree


def _as_compared(text: str, collation: collations.Collation) -> str:
    if collation.trim in ("trim", "ltrim"):
        text = text.lstrip(" ")
    if collation.trim in ("trim", "rtrim"):
        text = text.rstrip(" ")
    return text.upper() if collation.letters == "upper" else text.lower() if collation.letters == "lower" else text


def chosen(values: Sequence[Bound]) -> str | None:
    """The collation by which these values are compared with each other, or that what is made of them has.

    What COLLATE says counts before what columns say. Two that differ are an error.
    """
    texts = [value for value in values if value.type.kind is Kind.VARCHAR]
    explicit = [value.type.collation for value in texts if value.explicit]
    return _one(explicit) if explicit else of_types(value.type for value in texts)


def of_types(types: Iterable[DataType]) -> str | None:
    """Likewise, of columns."""
    return _one([type_.collation for type_ in types if type_.collation is not None])


def _one(found: Sequence[str | None]) -> str | None:
    different = {(name or "").lower(): name for name in found}
    if len(different) > 1:
        names = " and ".join(f"'{name or ''}'" for name in different.values())
        raise errors.compilation(
            "002322", "42846", f"Incompatible collations: {names}", hint="Write COLLATE behind one of the values."
        )
    return next(iter(different.values()), None)


def collated(type_: DataType, values: Sequence[Bound]) -> DataType:
    """The type of something made of these values, with their collation."""
    return replace(type_, collation=chosen(values)) if type_.kind is Kind.VARCHAR else type_


def matched(values: Sequence[Bound], name: str) -> list[Bound]:
    """The texts as LIKE and its like compare them: one in the other."""
    specification = chosen(values)
    if specification is None:
        return list(values)
    collation = collations.parse(specification)
    if collation.locale is not None:
        raise _refused(name, specification)
    return [value.with_tree(_prepared(value.tree, collation)) if _is_text(value) else value for value in values]


def of_call(function: Function, values: list[Bound]) -> list[Bound]:
    """The arguments of a call, with the collation under which it compares them. Refuses what it can't compare so."""
    if not any(value.explicit or value.type.is_collated for value in values):
        return values
    name = function.name
    if name in _MATCHING:
        return matched(values, name)
    if name in _COMPARING:
        specification = chosen(values)
        return [_with(value, specification) if _is_text(value) else value for value in values]
    if name == "DECODE":
        searched = [0, *range(1, len(values) - 1, 2)]
        specification = chosen([values[index] for index in searched])
        return [_with(v, specification) if i in searched and _is_text(v) else v for i, v in enumerate(values)]
    if name in _REFUSED or (name in _TRIMMING and len(values) > 1):
        refuse(values, name)
    return values


def refuse(values: Sequence[Bound], name: str) -> None:
    """For what knows no collation."""
    specification = chosen(values)
    if specification is not None and not collations.parse(specification).is_plain:
        raise _refused(name, specification)


def of_result(function: Function, type_: DataType, values: Sequence[Bound]) -> DataType:
    """The type of what a call gives: a text made of texts has their collation."""
    if type_.kind is not Kind.VARCHAR or type_.collation is not None or function.kind is not FunctionKind.SCALAR:
        return type_
    return type_ if function.name in ("COLLATE", "COLLATION", "DECODE") else collated(type_, values)


def _with(value: Bound, specification: str | None) -> Bound:
    return value.with_tree(value.tree, replace(value.type, collation=specification))


def _is_text(value: Bound) -> bool:
    return value.type.kind is Kind.VARCHAR


def _refused(name: str, specification: str) -> errors.SnowmeltError:
    return errors.compilation(
        "002323", "0A000", f"Function {name} does not support collation: '{specification}'",
        hint="COLLATE '' behind the value lets it be compared by its code points.",
    )  # fmt: skip

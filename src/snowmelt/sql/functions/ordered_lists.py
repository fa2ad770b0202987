"""The values of a group as a Spark array, in the order that WITHIN GROUP asks for."""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import DataType, Kind
from snowmelt.sql.dialect import call as invoke
from snowmelt.sql.dialect import integer, spark, string
from snowmelt.sql.functions.registry import FunctionCall

_VALUE = "v"


def gather(call: FunctionCall, value: exp.Expr, type_: DataType) -> exp.Expr:
    """The values of the group, without NULLs, as a Spark ARRAY: in the call's order, distinct if asked."""
    if call.distinct and type_.has_key:
        hint = "Write COLLATE '' behind it." if type_.is_collated else None
        raise errors.unsupported(f"{call.name}(DISTINCT …) of {type_}", hint=hint)
    return gather_by(value, type_, call.order, distinct=call.distinct)


def gather_by(value: exp.Expr, type_: DataType, order: tuple[exp.Ordered, ...], *, distinct: bool = False) -> exp.Expr:
    """Like `gather`, in an order of the caller's."""
    collect = "collect_set" if distinct else "collect_list"
    if not order:
        return once(invoke(collect, value), type_) if distinct else invoke(collect, value)
    descending = [bool(item.args.get("desc")) for item in order]
    # Spark sorts structs by itself when every key goes the same way and the value can be compared.
    sortable = len(set(descending)) == 1 and not type_.is_semi_structured
    members: list[exp.Expr] = []
    for index, item in enumerate(order):
        nulls_first = bool(item.args.get("nulls_first"))
        rank_of_null_is_high = nulls_first == (sortable and descending[0])
        test = "_0 IS NULL" if rank_of_null_is_high else "_0 IS NOT NULL"
        members += [string(f"n{index}"), spark(test, item.this), string(f"k{index}"), item.this]
    entry = invoke("named_struct", *members, string(_VALUE), value)
    entries = invoke(collect, spark("CASE WHEN _0 IS NOT NULL THEN _1 END", value, entry))
    if sortable:
        ordered = invoke("sort_array", entries, exp.Boolean(this=not descending[0]))
    else:
        ordered = spark("array_sort(_0, (sm_l, sm_r) -> _1)", entries, _comparison(descending))
    values = spark("transform(_0, sm_e -> sm_e.v)", ordered)
    return once(values, type_) if distinct else values


def once(values: exp.Expr, *types: DataType) -> exp.Expr:
    """The members of a `collect_set` of such values, each once: Spark's sets have NaN as often as it came."""
    return invoke("array_distinct", values) if any(type_.kind is Kind.FLOAT for type_ in types) else values


def _comparison(descending: list[bool]) -> exp.Expr:
    """-1, 0 or 1 for two entries, key by key; the position of NULLs comes before the key itself."""
    branches: list[exp.If] = []
    for index, down in enumerate(descending):
        for field, is_down in ((f"n{index}", False), (f"k{index}", down)):
            left, right = _field("sm_l", field), _field("sm_r", field)
            branches.append(exp.If(this=spark("_0 < _1", left, right), true=integer(1 if is_down else -1)))
            branches.append(exp.If(this=spark("_0 > _1", left, right), true=integer(-1 if is_down else 1)))
    return exp.Case(ifs=branches, default=integer(0))


def _field(holder: str, name: str) -> exp.Expr:
    return exp.Dot(this=exp.to_identifier(holder), expression=exp.to_identifier(name))

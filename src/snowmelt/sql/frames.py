"""Window frames: `ROWS BETWEEN 1 PRECEDING AND CURRENT ROW`.

Spark takes more than Snowflake does: an interval over whole numbers, days over dates, a negative number of rows. Such a
frame would be computed as something that nobody asked for, so it is refused here.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.types import Kind
from snowmelt.sql.bound import Bound

_RANKS = {("UNBOUNDED", "PRECEDING"): 0, (None, "PRECEDING"): 1, (None, "FOLLOWING"): 3, ("UNBOUNDED", "FOLLOWING"): 4}
_CURRENT = 2


def bind_frame(spec: exp.WindowSpec, order: Sequence[Bound]) -> exp.WindowSpec:
    """The frame for Spark, where it means there what it means in Snowflake. Raises otherwise."""
    by_value = str(spec.args.get("kind") or "").upper() == "RANGE"
    ranks = [_rank(spec, side) for side in ("start", "end")]
    if ranks[0] > ranks[1] or ranks[0] == _RANKS["UNBOUNDED", "FOLLOWING"] or ranks[1] == 0:
        raise _invalid("it ends before it begins")
    for side in ("start", "end"):
        bound = spec.args.get(side)
        if isinstance(bound, exp.Expr):
            _check_bound(bound, order, by_value=by_value)
    return spec.copy()


def _rank(spec: exp.WindowSpec, side: str) -> int:
    value, direction = spec.args.get(side), spec.args.get(f"{side}_side")
    word = value.upper() if isinstance(value, str) else None
    if word == "CURRENT ROW" or value is None:
        return _CURRENT
    rank = _RANKS.get((word, str(direction).upper()))
    if rank is None:
        raise _invalid("each side is CURRENT ROW, or a distance or UNBOUNDED, and then PRECEDING or FOLLOWING")
    return rank


def _check_bound(bound: exp.Expr, order: Sequence[Bound], *, by_value: bool) -> None:
    is_number = isinstance(bound, exp.Literal) and not bound.is_string
    if not by_value:
        if not is_number or not str(bound.this).isdigit():
            raise _invalid("a number of rows is a constant whole number")
        return
    if len(order) != 1:
        raise _invalid("RANGE with a distance needs exactly one ORDER BY expression")
    type_ = order[0].type
    if isinstance(bound, exp.Interval):
        fits = type_.is_timestamp or type_.kind is Kind.DATE
    else:
        fits = is_number and (type_.is_number or type_.kind is Kind.FLOAT)
    if not fits:
        raise _invalid(f"its distance is no constant that can be added to {type_}")


def _invalid(reason: str) -> SnowmeltError:
    return errors.compilation(
        "002303", "42601", f"Invalid window frame: {reason}.",
        hint="RANGE takes a number over numbers, and an INTERVAL over dates and timestamps; ROWS a number of rows.",
    )  # fmt: skip

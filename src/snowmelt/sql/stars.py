"""What `*` stands for: EXCLUDE and ILIKE choose among the columns, REPLACE and RENAME change them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.core.patterns import like
from snowmelt.sql.bound import fold_identifier, position_of


def star_of(item: exp.Expr) -> exp.Star | None:
    """The star of `*` or `t.*`; None for anything else."""
    if isinstance(item, exp.Star):
        return item
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        return item.this
    return None


def chooser(star: exp.Star, names: Iterable[str]) -> Callable[[str], bool]:
    """Whether a column of these is one that EXCLUDE or ILIKE leaves in."""
    pattern, excluded = star.args.get("ilike"), star.args.get("except_")
    if pattern is not None and excluded:
        raise errors.unsupported("ILIKE and EXCLUDE of one star")
    if pattern is not None:
        matches = like(_constant(pattern), escapes=False)
        return lambda name: matches.fullmatch(name) is not None
    without = {named_column(part, names) for part in excluded or []}
    return lambda name: name not in without


def named_column(part: exp.Expr, names: Iterable[str]) -> str:
    """The column that EXCLUDE, REPLACE or RENAME names, which must be one of the star's."""
    if isinstance(part, exp.Column) and part.table:
        raise errors.unsupported("names with a table in EXCLUDE, REPLACE or RENAME", hint="Write the column alone.")
    name = fold_identifier(part.this if isinstance(part, exp.Column) else part)
    if name not in names:
        where = position_of(part)
        raise errors.invalid_identifier(quote(name), where.line, where.position)
    return name


def _constant(pattern: exp.Expr) -> str:
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        raise errors.unsupported("ILIKE of a star with something that is not a text constant")
    return str(pattern.this)

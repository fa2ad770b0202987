"""Table functions that Spark computes: FLATTEN, SPLIT_TO_TABLE and GENERATOR."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.types import DataType
from snowmelt.sql import collations
from snowmelt.sql import flatten as flattening
from snowmelt.sql.binders import BindsExpressions
from snowmelt.sql.bound import Scope, SourceColumn
from snowmelt.sql.dialect import identifier, spark
from snowmelt.sql.notes import typed

FLATTEN_COLUMNS: tuple[tuple[str, DataType], ...] = (
    ("SEQ", types.INTEGER),
    ("KEY", types.VARCHAR),
    ("PATH", types.VARCHAR),
    ("INDEX", types.INTEGER),
    ("VALUE", types.VARIANT),
    ("THIS", types.VARIANT),
)
SEQUENCE_COLUMN = "__seq"
"""Row numbers of a GENERATOR, from 0: what SEQ4() and its like read."""


class FromClause(Protocol):
    """The FROM clause that a call stands in: a `SourceBinder`."""

    @property
    def scope(self) -> Scope: ...
    @property
    def expressions(self) -> BindsExpressions: ...
    @property
    def target(self) -> exp.Select: ...

    def aliased(
        self, tree: exp.Expr, columns: list[tuple[str, str, DataType]], node: exp.Expr, parts: tuple[str, ...]
    ) -> exp.Expr: ...


def flatten(sources: FromClause, arguments: dict[str, exp.Expr], node: exp.Expr) -> exp.Expr:
    given = _by_name("FLATTEN", arguments, ("INPUT", "PATH", "OUTER", "RECURSIVE", "MODE"))
    if "INPUT" not in given:
        raise errors.not_enough_arguments("FLATTEN", 1, 0)
    value = sources.expressions.bind(given["INPUT"])
    value = value if value.type.is_semi_structured else sources.expressions.cast(value, types.VARIANT)
    path_text = _constant(sources, "PATH", given.get("PATH"))
    recursive = _flag(sources, "RECURSIVE", given.get("RECURSIVE"))
    wanted = _flatten_columns(node, recursive=recursive)
    rows = flattening.flatten(
        value.tree,
        path=path_text,
        outer=_flag(sources, "OUTER", given.get("OUTER")),
        recursive=recursive,
        mode=(_constant(sources, "MODE", given.get("MODE")) or "BOTH").upper(),
        columns=wanted,
    )
    fields = [(name, type_) for name, type_ in FLATTEN_COLUMNS if name in wanted]
    number = _row_number(sources) if _mentions(node, "SEQ") else None
    tree = inline_rows(sources, rows, fields, node)
    source = sources.scope.sources[-1]
    columns = {column.name: column for column in source.columns}
    if number is not None:
        columns["SEQ"] = replace(columns["SEQ"], tree=number)
    if "THIS" not in columns:
        # The same in every row: added here, where it costs nothing unless it is used.
        this = flattening.flattened_value(value.tree, path_text)
        columns["THIS"] = SourceColumn("THIS", types.VARIANT, this)
    ordered = tuple(columns[name] for name, _ in FLATTEN_COLUMNS if name in columns)
    sources.scope.sources[-1] = replace(source, columns=ordered)
    return tree


def _constant(sources: FromClause, name: str, node: exp.Expr | None) -> str | None:
    """The text of an argument that must be a constant or a variable; None when it is left out."""
    if node is None:
        return None
    tree = sources.expressions.bind(node).tree
    if not isinstance(tree, exp.Literal) or not tree.is_string:
        raise errors.invalid_value(node.sql(dialect="snowflake"), name, expected="a text constant")
    return str(tree.this)


def _flag(sources: FromClause, name: str, node: exp.Expr | None) -> bool:
    if node is None:
        return False
    tree = sources.expressions.boolean(node).tree
    if not isinstance(tree, exp.Boolean):
        raise errors.invalid_value(node.sql(dialect="snowflake"), name, expected="TRUE or FALSE")
    return bool(tree.this)


def _row_number(sources: FromClause) -> exp.Expr | None:
    """A number for each row that is flattened, for SEQ; None when there is only one, which is number 1."""
    if not sources.scope.sources:
        return None
    first = sources.target.args["from_"].this if sources.target.args.get("from_") is not None else None
    if len(sources.scope.sources) > 1 or not isinstance(first, exp.Table | exp.Subquery):
        raise errors.unsupported("SEQ of a FLATTEN behind a join", hint="Flatten one table in a subquery first.")
    alias = first.args["alias"].copy()
    number = exp.alias_(spark("monotonically_increasing_id() + 1"), identifier("__row"))
    inner = exp.select(exp.Star(), number).from_(first.copy())
    first.replace(exp.Subquery(this=inner, alias=alias))
    return exp.column(identifier("__row"), table=identifier(alias.this.name))


def inline_rows(sources: FromClause, rows: exp.Expr, columns: list[tuple[str, DataType]], node: exp.Expr) -> exp.Expr:
    """A lateral join with the rows of an ARRAY<STRUCT<…>>."""
    named = sources.aliased(exp.Table(this=identifier("x")), [(n, n, t) for n, t in columns], node, ())
    alias = named.args["alias"].this.name
    inner = exp.Anonymous(this="inline", expressions=[rows])
    names = [typed(identifier(name), type_) for name, type_ in columns]
    return exp.Lateral(this=inner, alias=exp.TableAlias(this=identifier(alias), columns=names))


def split_to_table(sources: FromClause, name: str, call: exp.Anonymous, node: exp.Expr) -> exp.Expr:
    if len(call.expressions) != 2:
        raise errors.not_enough_arguments(name, 2, len(call.expressions))
    bound = [sources.expressions.bind(argument) for argument in call.expressions]
    collations.refuse(bound, name)
    text, separator = (sources.expressions.cast(value, types.VARCHAR) for value in bound)
    template = (
        "split(_0, concat('\\\\Q', _1, '\\\\E'), -1)"
        if name == "SPLIT_TO_TABLE"
        else "filter(split(_0, concat('[', regexp_replace(_1, '([\\\\[\\\\]\\\\\\\\^-])', '\\\\\\\\$1'), ']')), "
        "p -> p <> '')"
    )
    parts = spark(template, text.tree, separator.tree)
    rows = spark(
        "transform(_0, (x, i) -> named_struct('SEQ', 1L, 'INDEX', cast(i + 1 as bigint), 'VALUE', x))",
        parts,
    )
    columns = [("SEQ", types.INTEGER), ("INDEX", types.INTEGER), ("VALUE", types.VARCHAR)]
    return inline_rows(sources, rows, columns, node)


def generator(sources: FromClause, arguments: dict[str, exp.Expr], node: exp.Expr) -> exp.Expr:
    given = _by_name("GENERATOR", arguments, ("ROWCOUNT", "TIMELIMIT"))
    count = given.get("ROWCOUNT")
    if count is None or "TIMELIMIT" in given:
        raise errors.unsupported("GENERATOR with TIMELIMIT or without ROWCOUNT")
    bound = sources.expressions.bind(count)
    bound = bound if bound.type.int64 else sources.expressions.cast(bound, types.INTEGER)
    rows = exp.Table(this=exp.Anonymous(this="range", expressions=[bound.tree]))
    inner = exp.select(exp.alias_(exp.column("id"), SEQUENCE_COLUMN)).from_(rows)
    return sources.aliased(exp.Subquery(this=inner), [], node, ())


def _mentions(node: exp.Expr, name: str) -> bool:
    """Whether the statement names such a column anywhere."""
    return any(column.name.upper() == name for column in node.root().find_all(exp.Column))


def _flatten_columns(node: exp.Expr, *, recursive: bool) -> list[str]:
    """What the flattened rows must carry; THIS makes them several times dearer."""
    wanted = [name for name, _ in FLATTEN_COLUMNS if name != "THIS"]
    has_star = any(not isinstance(star.parent, exp.Anonymous) for star in node.root().find_all(exp.Star))
    return [*wanted, "THIS"] if recursive and (has_star or _mentions(node, "THIS")) else wanted


def _by_name(function: str, arguments: dict[str, exp.Expr], names: tuple[str, ...]) -> dict[str, exp.Expr]:
    """The arguments of a table function by its names for them; an error for one that it does not have."""
    found: dict[str, exp.Expr] = {}
    for key, value in arguments.items():
        name = names[int(key)] if key.isdigit() and int(key) < len(names) else key
        if name not in names:
            raise errors.compilation("001044", "42P13", f"{function} has no argument {name}.")
        found[name] = value
    return found

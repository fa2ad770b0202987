"""Expressions of scripts: variables by their bare names or with a colon."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core.names import fold
from snowmelt.core.types import DataType
from snowmelt.runtime import folding
from snowmelt.runtime.constants import UNKNOWN
from snowmelt.runtime.run import Run
from snowmelt.runtime.variables import Variable
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.scripting.check import is_word
from snowmelt.sql.tokens import SqlText, tokenize

if TYPE_CHECKING:
    from snowmelt.runtime.session import Session


@lru_cache(maxsize=4096)
def _parsed(text: str) -> exp.Expr:
    """Shared, so nobody changes it. As in Snowflake, positions in errors count from the expression's beginning."""
    return parse_snowflake(text)


def evaluate(session: Session, text: SqlText) -> Variable:
    """The value of an expression in the script that runs now, if one does."""
    tree = _parsed(text.text)
    computed = folding.compute(tree, lambda name: _local(session, name))
    if isinstance(computed, Variable):
        return computed
    return _run(session, text, _with_variables(session, tree))


def convert(session: Session, variable: Variable, target: DataType) -> Variable:
    """The value as one of that type, as a cast gives it."""
    converted = folding.convert(variable, target)
    if isinstance(converted, Variable):
        return converted
    to = exp.DataType.build(str(target), dialect="snowflake")
    found = _run(session, SqlText(""), exp.cast(variable.literal(), to))
    return Variable(found.value, target)


def is_true(session: Session, variable: Variable) -> bool:
    """Whether a condition holds: NULL does not."""
    found = folding.truth(variable)
    if found is UNKNOWN:
        cast = exp.cast(variable.literal(), exp.DataType.build("BOOLEAN"))
        found = _run(session, SqlText(""), cast).value
    return bool(found)


def is_equal(session: Session, left: Variable, right: Variable) -> bool:
    tree = exp.EQ(this=left.literal(), expression=right.literal())
    return is_true(session, _run(session, SqlText(""), tree))


def name_alone(text: SqlText) -> str | None:
    """The folded name, when the expression is one name and no more."""
    tokens = tokenize(text).tokens
    if len(tokens) != 2 or tokens[0].kind.name not in ("WORD", "QUOTED"):
        return None
    return fold(tokens[0].text, quoted=tokens[0].kind.name == "QUOTED")


def with_names(text: str, count: int) -> str:
    """A statement whose first question marks are names of `frames.Binds`."""
    source = tokenize(text)
    pieces: list[str] = []
    position = used = 0
    for token in source.tokens:
        if token.word == "?" and used < count:
            used += 1
            pieces += [text[position : token.start], f":__{used}"]
            position = token.end
    return "".join([*pieces, text[position:]])


def _local(session: Session, name: str) -> Variable | None:
    return session.script.local(name) if session.script is not None else None


def _run(session: Session, text: SqlText, tree: exp.Expr) -> Variable:
    """Through the binder, at this instant: an expression is a statement of its own."""
    outer = session.running
    run = Run(session, text)
    session.running = run
    try:
        return run.evaluate(tree)
    finally:
        session.running = outer
        run.release_warehouse()


def _with_variables(session: Session, shared: exp.Expr) -> exp.Expr:
    """The expression with the names of variables as `:name`. Inside a query a bare name is a column."""
    tree: exp.Expr = shared.copy()
    for column in list(tree.find_all(exp.Column)):
        parts = column.parts
        if len(parts) > 2 or not all(isinstance(part, exp.Identifier) for part in parts):
            continue
        name = ".".join(fold(part.name, quoted=bool(part.args.get("quoted"))) for part in parts)
        if column.find_ancestor(exp.Query) is not None or is_word(column) or _local(session, name) is None:
            continue
        placeholder = exp.Placeholder(this=name)
        if column is tree:
            return placeholder
        column.replace(placeholder)
    return tree

"""SPARK_FRAME: the rows of a Python function over real Spark DataFrames, in the query of a dynamic table.

    SELECT * FROM TABLE(SPARK_FRAME(HANDLER => 'scores', READS => 'orders, sales.customers', CODE => $$…$$))

`CODE` is the text of a Python module, `HANDLER` a function in it, `READS` the names of all tables and views that it may
ask for: so that what it depends on is known without running it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import split_name

FUNCTION = "SPARK_FRAME"
_WORDS = ("HANDLER", "READS", "CODE")


@dataclass(frozen=True, slots=True)
class SparkFrame:
    handler: str
    reads: tuple[tuple[str, ...], ...]
    """Names of relations, as written, their parts folded."""
    code: str


def read(arguments: Mapping[str, exp.Expr]) -> SparkFrame:
    """The call with these named arguments. Raises for one that is missing, unknown or no constant."""
    for name in arguments:
        if name.upper() not in _WORDS:
            raise errors.compilation("001044", "42601", f"SPARK_FRAME has no argument {name}.")
    values = {name.upper(): _text(name, tree) for name, tree in arguments.items()}
    missing = [word for word in ("HANDLER", "CODE") if not values.get(word)]
    if missing:
        raise errors.missing_options(missing)
    return SparkFrame(values["HANDLER"], tuple(_names(values.get("READS", ""))), values["CODE"])


def calls(tree: exp.Expr) -> Iterator[SparkFrame]:
    """All calls in a query."""
    for node in tree.find_all(exp.Anonymous):
        if str(node.this).upper() == FUNCTION:
            yield read({item.this.name: item.expression for item in node.expressions if isinstance(item, exp.Kwarg)})


def _text(name: str, tree: exp.Expr) -> str:
    if not isinstance(tree, exp.RawString) and not (isinstance(tree, exp.Literal) and tree.is_string):
        raise errors.compilation("001015", "22023", f"{FUNCTION}: {name} must be a string.")
    return str(tree.this)


def _names(text: str) -> Iterator[tuple[str, ...]]:
    for written in filter(None, map(str.strip, text.split(","))):
        parts = split_name(written)
        if parts is None or len(parts) > 3:
            raise errors.compilation("001015", "22023", f"{FUNCTION}: '{written}' in READS is not the name of a table.")
        yield parts

"""The two languages: Snowflake SQL as we read it, Spark SQL as we write it.

Both parsers leave every function call as `exp.Anonymous(name, arguments)`, exactly as it was written. sqlglot's own
translation of functions between dialects was measured to be silently wrong for a quarter of the values tried
(`docs/design/dialect.md`), so nothing here may pass through it: what a call means is decided in `sql/functions`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from math import inf
from typing import Any, ClassVar

from sqlglot import exp, parse_one
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.snowflake import Snowflake
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.generator import Generator
from sqlglot.generators.snowflake import SnowflakeGenerator
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parser import Parser
from sqlglot.parsers.snowflake import SnowflakeParser
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from snowmelt.core import errors
from snowmelt.sql.correlation import fit_subqueries
from snowmelt.sql.loose_words import outer_marks, refuse_loose_words, unexpected, with_last
from snowmelt.sql.memberships import is_value, three_valued
from snowmelt.sql.node_arguments import refuse_unread
from snowmelt.sql.work import too_large

_MOST_NODES = 100_000
"""Of an argument. What anybody writes stays far below: this ends what doubles itself at each level."""
_SLOT = re.compile(r"_\d+")
_TEXT = "text"
"""The note on an item of a SELECT list that holds its text."""
FROM_LAST = "from_last"
"""The note on NTH_VALUE(…) FROM LAST."""
GUARDED = "snowmelt_guarded"
"""As SEALED, for the rows that a policy shows. It goes away where nothing needs it."""
SEALED = "snowmelt_sealed"
"""A call that gives its argument, and that Spark's optimizer moves no predicate past."""
_LOOSE = (exp.Binary, exp.Unary, exp.Between, exp.In, exp.Case)
"""What needs parentheses when it becomes an operand."""

_AT_END = "<EOF> "
"""Begins the description of an error where the text ends too early."""
_KEPT_PARSERS = ("CAST", "TRY_CAST", "EXTRACT", "POSITION")
"""Calls whose arguments are not a plain list, and so need a parser of their own."""


class _SnowflakeParser(SnowflakeParser):
    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        word: SnowflakeParser.FUNCTION_PARSERS[word] for word in _KEPT_PARSERS
    }
    NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {
        token: kind for token, kind in SnowflakeParser.NO_PAREN_FUNCTIONS.items() if kind is not exp.Localtime
    }

    def raise_error(self, message: str, token: Token | None = None) -> None:
        """Without a token it is about the next one. Behind the last one there is none, and the error says so."""
        at_end = not self._curr and (not token or token is self._prev)
        super().raise_error(f"{_AT_END}{message}" if at_end else message, *([token] if token else []))

    def build_cast(self, strict: bool, **kwargs: Any) -> exp.Expr:
        # Every cast is a cast: Snowflake's dialect would make a function call of TRY_CAST(x AS BOOLEAN).
        return Parser.build_cast(self, strict, **kwargs)

    def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:
        if (
            isinstance(this, exp.Anonymous)
            and this.name.upper() == "NTH_VALUE"
            and self._match_text_seq("FROM", "LAST")
        ):
            this.meta[FROM_LAST] = True
        elif isinstance(this, exp.Anonymous) and this.name.upper() == "NTH_VALUE":
            self._match_text_seq("FROM", "FIRST")
        return super()._parse_window(this, alias)

    def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        """With MATCH_RECOGNIZE behind it, which sqlglot would read behind the last join only."""
        table = super()._parse_table(*args, **kwargs)
        match = self._parse_match_recognize() if table is not None else None
        if match is None:
            return table
        if not isinstance(table, exp.Subquery) or table.args.get("match"):
            table = exp.Subquery(this=table)
        table.set("match", match)
        return table

    def _parse_limit(
        self, this: exp.Expr | None = None, top: bool = False, skip_limit_token: bool = False
    ) -> exp.Expr | None:
        start = self._index
        limit = super()._parse_limit(this, top, skip_limit_token)
        if isinstance(limit, exp.Limit) and limit.args.get("offset") is not None:
            # MySQL's LIMIT offset, count.
            read = self._tokens[start : self._index]
            self.raise_error("Unexpected ','", [token for token in read if token.token_type is TokenType.COMMA][-1])
        return limit

    def _parse_group(self, skip_group_by_token: bool = False) -> exp.Group | None:
        start = self._index
        group = super()._parse_group(skip_group_by_token)
        if group is not None and "all" in group.args and (group.expressions or not group.args["all"]):
            # GROUP BY DISTINCT, or GROUP BY ALL with more behind it, of which sqlglot notes no more than that.
            words = (TokenType.ALL, TokenType.DISTINCT)
            raise unexpected(next(token for token in self._tokens[start:] if token.token_type in words))
        return group

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        if this is not None and self._match(TokenType.L_BRACE, advance=False):
            # sqlglot would leave out what stands before an object in braces.
            raise unexpected(self._curr)
        return super()._parse_bracket(this)

    def _parse_lambda_arg(self) -> exp.Expr | None:
        argument = super()._parse_lambda_arg()
        if isinstance(argument, exp.Cast) and self._match(TokenType.FARROW, advance=False):
            # A parameter of a lambda may have a type. The name of an argument, as in INPUT => v, has none.
            raise unexpected(self._prev)
        return argument

    def _parse_star_op(self, *keywords: str) -> list[exp.Expr] | None:
        start = self._index
        found = super()._parse_star_op(*keywords)
        if not found and self._index > start:
            raise unexpected(self._tokens[start])
        return found

    def parse(self, raw_tokens: list[Token], sql: str) -> list[exp.Expr | None]:
        refuse_loose_words(raw_tokens)
        trees = super().parse(with_last(raw_tokens), sql)
        marks = outer_marks(raw_tokens)
        if marks and len(marks) != sum(column.args.get("join_mark") is True for column in _columns(trees)):
            # It stands where only a name is taken, and went with the rest of the column.
            raise unexpected(marks[0])
        return trees

    def _parse_projections(self) -> tuple[list[exp.Expr], list[exp.Expr] | None]:
        items = self._parse_csv(self._parse_projection)
        if not items:
            self.raise_error("A SELECT list has at least one item")
        return items, None

    def _parse_projection(self) -> exp.Expr | None:
        """An item of a SELECT list. One without a name of its own notes its text, which becomes its name."""
        start = self._curr
        item = self._parse_expression()
        if item is not None and not isinstance(item, exp.Alias | exp.Column | exp.Star):
            item.meta[_TEXT] = self._find_sql(start, self._prev)
        return item


def _columns(trees: list[exp.Expr | None]) -> Iterator[exp.Column]:
    return (column for tree in trees if tree is not None for column in tree.find_all(exp.Column))


class SnowflakeSource(Snowflake):
    """Snowflake SQL with calls left as written."""

    Parser = _SnowflakeParser


class _SparkParser(SparkParser):
    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        word: SparkParser.FUNCTION_PARSERS[word] for word in ("CAST", "TRY_CAST", "EXTRACT")
    }


class _SparkGenerator(SparkGenerator):
    # Spark takes WITH anywhere. sqlglot would move every WITH to the top, where names of other scopes collide and a
    # correlated one can't see what it refers to.
    EXPRESSIONS_WITHOUT_NESTED_CTES: ClassVar[set[type[exp.Expr]]] = set()

    def anonymous_sql(self, expression: exp.Anonymous) -> str:
        arguments = self.expressions(expression, flat=True)
        if expression.this in (SEALED, GUARDED):
            # Spark moves nothing past a column that is not the same at every look. (`rand() >= 0` it knows to be true.)
            return f"CASE WHEN monotonically_increasing_id() >= 0 THEN {arguments} END"
        return f"{expression.this}({arguments})"

    def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
        # As written: the Spark dialect looks for JSON functions in each cast, which costs more than all the rest.
        return Generator.cast_sql(self, expression, safe_prefix)

    def in_sql(self, expression: exp.In) -> str:
        if expression.args.get("query") is not None and is_value(expression):
            return self.sql(three_valued(expression))
        return super().in_sql(expression)

    def datatype_sql(self, expression: exp.DataType) -> str:
        # sqlglot maps TIME to TIMESTAMP for Spark; since 4.1 Spark has the type.
        return "TIME(6)" if expression.is_type(exp.DType.TIME) else super().datatype_sql(expression)


class SparkTarget(Spark):
    """Spark SQL for templates and for the final text."""

    Parser = _SparkParser
    Generator = _SparkGenerator


class _SnowflakeGenerator(SnowflakeGenerator):
    """Writes an expression back as people write it: `v:a.b::INT`, not `CAST(GET_PATH(v, 'a.b') AS INT)`."""

    def anonymous_sql(self, expression: exp.Anonymous) -> str:
        return f"{expression.this}({self.expressions(expression, flat=True)})"

    def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
        if safe_prefix or isinstance(expression, exp.TryCast):
            return super().cast_sql(expression, safe_prefix)
        return f"{self.sql(expression, 'this')}::{self.sql(expression, 'to')}"

    def jsonextract_sql(self, expression: exp.JSONExtract) -> str:
        path = self.sql(expression, "expression").removeprefix("$.").strip("'")
        return f"{self.sql(expression, 'this')}:{path}"


class _SnowflakeText(Snowflake):
    Parser = _SnowflakeParser
    Generator = _SnowflakeGenerator


_SNOWFLAKE_TEXT = Dialect.get_or_raise(_SnowflakeText)
_SNOWFLAKE = Dialect.get_or_raise(SnowflakeSource)
_SPARK = Dialect.get_or_raise(SparkTarget)


def parse_snowflake(text: str, *, line: int = 1, column: int = 0) -> exp.Expr:
    """The syntax tree of one query or expression. Raises for a part of it that binding would leave out.

    `line` and `column` say where the text starts in the user's statement, so that an error points there.
    """
    try:
        tree = parse_one(text, dialect=_SNOWFLAKE)
    except ParseError as error:
        where = error.errors[0] if error.errors else {}
        at_line, end, token = where.get("line") or 1, where.get("col") or 0, where.get("highlight") or ""
        if (where.get("description") or "").startswith(_AT_END):
            token = ""
        raise _syntax_error(at_line, end, token, line, column) from error
    except TokenError as error:
        raise errors.syntax_error(line, column, text.strip()[:20]) from error
    except RecursionError as error:
        raise errors.compilation("000913", "54001", "The statement is nested too deeply.") from error
    refuse_unread(tree)
    if (line, column) != (1, 0):
        _shift(tree, line, column)
    return tree


def _shift(tree: exp.Expr, line: int, column: int) -> None:
    """Tells every node where it stands in the statement that the text is a part of."""
    for node in tree.walk():
        at = node.meta.get("line")
        if at is not None:
            if at == 1 and "col" in node.meta:
                node.meta["col"] += column
            node.meta["line"] = at + line - 1


def _syntax_error(at_line: int, end_column: int, token: str, line: int, column: int) -> Exception:
    start = max(end_column - len(token), 0) + (column if at_line == 1 else 0)
    return errors.syntax_error(line + at_line - 1, start, token)


@lru_cache(maxsize=4096)
def _template(text: str) -> exp.Expr:
    tree = parse_one(text, dialect=_SPARK)
    for function in tree.find_all(exp.Anonymous):
        if function.name.lower() in ("timestampadd", "timestampdiff"):
            # A unit, which the parser takes for the name of a column, and whoever looks for columns would too.
            unit = function.expressions[0]
            unit.replace(exp.Var(this=unit.name))
    return tree


def spark(template: str, *arguments: exp.Expr) -> exp.Expr:
    """A Spark expression from a template in which `_0`, `_1`, … stand for the arguments.

    Arguments are copied in as trees, in parentheses where precedence asks for it; nothing is pasted as text.
    """
    tree = copied(_template(template))
    for slot in [node for node in tree.find_all(exp.Column) if _SLOT.fullmatch(node.name)]:
        argument = copied(arguments[int(slot.name[1:])])
        if isinstance(argument, _LOOSE) and not isinstance(slot.parent, exp.Anonymous):
            argument = exp.Paren(this=argument)
        if slot is tree:
            return argument
        slot.replace(argument)
    return tree


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    """A Spark function call."""
    return exp.Anonymous(this=name, expressions=[copied(argument) for argument in arguments])


def copied(tree: exp.Expr, most: float = _MOST_NODES) -> exp.Expr:
    """A copy that shares nothing but notes on positions and comments, which nobody changes.

    Building an expression copies its parts at every level; this costs half of sqlglot's own `copy`, which
    also copies those notes in depth.
    """
    root = tree.__class__()
    waiting: list[tuple[exp.Expr, exp.Expr]] = [(tree, root)]
    count = 0
    while waiting:
        node, twin = waiting.pop()
        count += 1
        if count > most:
            raise too_large()
        twin.comments, twin._type, twin._meta = node.comments, node._type, node._meta
        for key, value in node.args.items():
            if isinstance(value, exp.Expr):
                child = value.__class__()
                child.parent, child.arg_key = twin, key
                twin.args[key] = child
                waiting.append((value, child))
            elif type(value) is list:
                twin.args[key] = [_child(item, twin, key, index, waiting) for index, item in enumerate(value)]
            else:
                twin.args[key] = value
    return root


def _child(item: Any, twin: exp.Expr, key: str, index: int, waiting: list[tuple[exp.Expr, exp.Expr]]) -> Any:
    if not isinstance(item, exp.Expr):
        return item
    child = item.__class__()
    child.parent, child.arg_key, child.index = twin, key, index
    waiting.append((item, child))
    return child


@lru_cache(maxsize=1024)
def _spark_type(text: str) -> exp.DataType:
    return exp.DataType.build(text, dialect="spark")


def spark_type(text: str) -> exp.DataType:
    """A Spark type by its SQL text."""
    return _spark_type(text).copy()


def string(value: str) -> exp.Expr:
    return exp.Literal.string(value)


def integer(value: int) -> exp.Expr:
    literal: exp.Expr = exp.Literal.number(str(abs(value)))
    return exp.Neg(this=literal) if value < 0 else literal


def identifier(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=True)


def to_spark_sql(tree: exp.Expr) -> str:
    """The final text. Every identifier of ours is quoted already; words in templates stay bare."""
    return fit_subqueries(copied(tree, inf)).sql(dialect=_SPARK, normalize_functions=False, copy=False)


def as_written(tree: exp.Expr) -> str:
    """An expression as it was written. One that was built, or that is no item of a SELECT list, is written anew."""
    text: str | None = tree.meta.get(_TEXT)
    return text if text is not None else tree.sql(dialect=_SNOWFLAKE_TEXT)

"""Types as they stand in a syntax tree (`x::NUMBER(10, 2)`)."""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core import types
from snowmelt.core.type_errors import unknown_type
from snowmelt.core.types import DataType, parse_type

_WORDS = {
    exp.DType.TEXT: "VARCHAR", exp.DType.VARCHAR: "VARCHAR", exp.DType.CHAR: "CHAR", exp.DType.NCHAR: "CHAR",
    exp.DType.NVARCHAR: "VARCHAR", exp.DType.DECIMAL: "NUMBER", exp.DType.INT: "INT", exp.DType.BIGINT: "INT",
    exp.DType.SMALLINT: "INT", exp.DType.TINYINT: "INT", exp.DType.FLOAT: "FLOAT", exp.DType.DOUBLE: "FLOAT",
    exp.DType.BOOLEAN: "BOOLEAN", exp.DType.DATE: "DATE", exp.DType.TIME: "TIME", exp.DType.DATETIME: "TIMESTAMP_NTZ",
    exp.DType.TIMESTAMP: "TIMESTAMP_NTZ", exp.DType.TIMESTAMPNTZ: "TIMESTAMP_NTZ",
    exp.DType.TIMESTAMPLTZ: "TIMESTAMP_LTZ", exp.DType.TIMESTAMPTZ: "TIMESTAMP_TZ", exp.DType.BINARY: "BINARY",
    exp.DType.VARBINARY: "BINARY", exp.DType.VARIANT: "VARIANT", exp.DType.OBJECT: "OBJECT", exp.DType.ARRAY: "ARRAY",
}  # fmt: skip

_SEMI_STRUCTURED = {exp.DType.ARRAY: types.ARRAY, exp.DType.OBJECT: types.OBJECT}


def type_of_ast(node: exp.Expr) -> DataType:
    """The type a cast names; an error that shows the word when there is none."""
    if isinstance(node, exp.DataType) and node.this in _WORDS and not node.args.get("nested"):
        parameters = ", ".join(str(parameter.this) for parameter in node.expressions)
        word = _WORDS[node.this]
        found = parse_type(f"{word}({parameters})" if parameters else word)
        if found is not None:
            return found
    if isinstance(node, exp.DataType) and node.this in _SEMI_STRUCTURED and not node.expressions:
        return _SEMI_STRUCTURED[node.this]
    raise unknown_type(node.sql(dialect="snowflake"))

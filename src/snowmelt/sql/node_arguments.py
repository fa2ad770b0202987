"""Which arguments of which syntax nodes binding reads. Whatever else a parsed tree holds is refused by name.

sqlglot's grammar is wider than Snowflake's, and wider than what is bound here: it reads `(+)`, `WITH TIES` or `BETWEEN
SYMMETRIC` and notes them as arguments of nodes. An argument that nobody reads would be left out of the query without a
word. So the tree of every text is held against the tables below, once, where it is parsed (`refuse_unread`).

- `READ`: the node classes that can be bound, each with the arguments that binding reads. A class that is not there is
  refused as a whole. `tests/sql/test_node_arguments.py` proves the claim: it takes each argument away from a query
  that has it, and the bound query must be another one.
- `WITHOUT_EFFECT`: what the parser notes for other dialects, or what changes no row. Each with its reason.
- `WORDS`: how the refused arguments of those classes are called. The same test fails on an argument of sqlglot's that
  stands in none of the three tables.
- `VALUES`: the words that an argument may hold, where it holds one.

A node that is bound in more than one place is held to what that place reads, with `only`.
"""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core import errors

_Node = type[exp.Expr]
_BINARY = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.And, exp.Or, exp.Add,
    exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.DPipe, exp.Is, exp.Like, exp.ILike, exp.Escape, exp.Dot, exp.WithinGroup,
    exp.Kwarg, exp.PropertyEQ, exp.Extract, exp.RegexpLike, exp.JSONExtract, exp.Collate,
)  # fmt: skip
_UNARY = (
    exp.From, exp.Where, exp.Having, exp.Qualify, exp.Paren, exp.Not, exp.Neg, exp.Any, exp.All, exp.Exists,
    exp.IgnoreNulls, exp.RespectNulls, exp.Prior, exp.ConnectByRoot, exp.Parameter, exp.Placeholder,
    exp.Var, exp.RawString, exp.National,
    exp.HexString, exp.Boolean, exp.DataTypeParam, exp.JSONPathKey, exp.JSONPathSubscript,
)  # fmt: skip
_LISTS = (
    exp.Tuple, exp.Array, exp.Struct, exp.Order, exp.GroupingSets, exp.Rollup, exp.Cube, exp.JSONPath,
)  # fmt: skip
_BARE = (
    exp.Null, exp.JSONPathRoot, exp.LimitOptions, exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime,
    exp.CurrentUser, exp.CurrentRole,
)  # fmt: skip
_SET_OPERATION = "with_ this expression distinct order limit offset by_name"

_READ: dict[_Node, str] = {
    **dict.fromkeys(_BINARY, "this expression"),
    **dict.fromkeys(_UNARY, "this"),
    **dict.fromkeys(_LISTS, "expressions"),
    **dict.fromkeys(_BARE, ""),
    exp.Select: "with_ expressions distinct from_ joins where group having qualify order limit offset connect",
    exp.Connect: "start connect",
    exp.Subquery: "this alias with_ joins order limit offset pivots sample match",
    exp.Union: _SET_OPERATION,
    exp.Except: _SET_OPERATION,
    exp.Intersect: _SET_OPERATION,
    exp.Values: "expressions alias order limit offset pivots",
    exp.With: "expressions recursive",
    exp.CTE: "this alias",
    exp.Table: "this alias db catalog joins format pattern when changes pivots sample",
    exp.MatchRecognize: "partition_by order measures rows after pattern define alias",
    exp.MatchRecognizeMeasure: "this window_frame",
    exp.Pivot: "alias expressions fields unpivot include_nulls default_on_null",
    exp.PivotAlias: "this alias",
    exp.PivotAny: "this",
    exp.TableSample: "method percent size seed",
    exp.TableAlias: "this columns",
    exp.Lateral: "this alias",
    exp.Join: "this on side kind using method match_condition",
    exp.HistoricalData: "this kind expression",
    exp.Changes: "information at_before end",
    exp.Group: "expressions all",
    exp.Ordered: "this desc nulls_first",
    exp.Limit: "expression",
    exp.Offset: "expression",
    exp.Fetch: "count",
    exp.Distinct: "expressions",
    exp.Star: "except_ replace rename ilike",
    exp.Alias: "this alias",
    exp.Column: "this table db catalog join_mark",
    exp.Identifier: "this quoted",
    exp.Literal: "this is_string",
    exp.Anonymous: "this expressions",
    exp.Lambda: "this expressions",
    exp.Window: "this partition_by order spec",
    exp.WindowSpec: "kind start start_side end end_side",
    exp.Between: "this low high",
    exp.In: "this expressions query",
    exp.Case: "this ifs default",
    exp.If: "this true",
    exp.Cast: "this to",
    exp.TryCast: "this to",
    exp.DataType: "this expressions collate",
    exp.Bracket: "this expressions",
    exp.StrPosition: "this substr position",
    exp.AtTimeZone: "this zone",
    exp.Interval: "this unit",
    exp.IntervalSpan: "this expression",
}
READ: dict[_Node, frozenset[str]] = {node: frozenset(names.split()) for node, names in _READ.items()}

_DIALECT = "noted by the parser for other dialects; nothing is written for it"
_WORD = "a word that changes nothing"

WITHOUT_EFFECT: dict[tuple[_Node, str], str] = {
    (exp.DPipe, "safe"): _DIALECT,
    (exp.Div, "safe"): _DIALECT,
    (exp.Div, "typed"): _DIALECT,
    (exp.JSONExtract, "variant_extract"): "says that it was written as v:path, which `operators.path` checks",
    (exp.JSONExtract, "requires_json"): _DIALECT,
    (exp.RegexpLike, "full_match"): "RLIKE matches whole texts, always",
    (exp.StrPosition, "clamp_position"): _DIALECT,
    (exp.TryCast, "safe"): _DIALECT,
    (exp.TryCast, "requires_string"): _DIALECT,
    (exp.TryCast, "null_on_text_overflow"): _DIALECT,
    (exp.TryCast, "probe_date_format"): _DIALECT,
    (exp.DataType, "nested"): "says that the type has types inside, which `typewords` checks",
    (exp.Bracket, "offset"): _DIALECT,
    (exp.Array, "bracket_notation"): _DIALECT,
    (exp.Interval, "fraction_in_string"): _DIALECT,
    (exp.Fetch, "direction"): f"FIRST or NEXT: {_WORD}",
    (exp.Fetch, "limit_options"): "held to account as a node of its own",
    (exp.Limit, "limit_options"): "held to account as a node of its own",
    (exp.LimitOptions, "rows"): f"ROW or ROWS: {_WORD}",
    (exp.Window, "over"): "the word OVER",
    (exp.Pivot, "columns"): "names that the parser makes up; `pivots` has Snowflake's",
    (exp.Pivot, "identify_pivot_strings"): _DIALECT,
    (exp.Pivot, "prefixed_pivot_columns"): _DIALECT,
    (exp.Pivot, "pivot_column_naming"): _DIALECT,
    (exp.Pivot, "value_columns_first"): _DIALECT,
    (exp.Join, "directed"): "asks for an order of work, not for other rows",
    (exp.HexString, "is_integer"): _DIALECT,
    (exp.JSONPathKey, "quoted"): "keys are told apart by case, quoted or not",
}

_CLAUSES = {
    "match": "MATCH_RECOGNIZE here", "laterals": "LATERAL VIEW", "connect": "CONNECT BY here",
    "pivots": "PIVOT / UNPIVOT here",
    "prewhere": "PREWHERE", "where": "WHERE here", "group": "GROUP BY here", "having": "HAVING here",
    "qualify": "QUALIFY here", "windows": "named windows", "distribute": "DISTRIBUTE BY", "sort": "SORT BY",
    "cluster": "CLUSTER BY", "locks": "FOR UPDATE", "sample": "SAMPLE here", "settings": "SETTINGS", "format": "FORMAT",
    "options": "OPTION", "for_": "FOR XML", "joins": "JOIN here", "with_": "WITH here", "order": "ORDER BY here",
    "limit": "LIMIT here", "offset": "OFFSET here",
}  # fmt: skip
_SET_WORDS = {**_CLAUSES, "side": "LEFT or FULL UNION", "kind": "UNION CORRESPONDING",
              "on": "UNION … ON"}  # fmt: skip
_CAST_WORDS = {"format": "CAST … FORMAT", "safe": "SAFE_CAST", "action": "CAST … WITH ACTION",
               "default": "CAST … DEFAULT ON CONVERSION ERROR"}  # fmt: skip

WORDS: dict[_Node, dict[str, str]] = {
    exp.Select: {**_CLAUSES, "kind": "SELECT AS", "hint": "optimizer hints", "into": "SELECT INTO",
                 "operation_modifiers": "SELECT modifiers", "exclude": "EXCLUDE behind the SELECT list"},
    exp.Subquery: {**_CLAUSES, "alias": "an alias of a table or join in parentheses"},
    exp.Connect: {"nocycle": "NOCYCLE"},
    exp.Union: _SET_WORDS,
    exp.Except: _SET_WORDS,
    exp.Intersect: _SET_WORDS,
    exp.Pivot: {"this": "PIVOT as a statement", "using": "PIVOT … USING", "group": "PIVOT … GROUP BY",
                "into": "PIVOT … INTO", "with_": "WITH in PIVOT"},
    exp.TableSample: {"expressions": "SAMPLE with several numbers", "rows": "SAMPLE … ROWS here",
                      "bucket_numerator": "SAMPLE of buckets", "bucket_denominator": "SAMPLE of buckets",
                      "bucket_field": "SAMPLE of buckets"},
    exp.With: {"search": "SEARCH … FIRST BY", "cycle": "CYCLE … SET", "udfs": "functions in WITH"},
    exp.CTE: {"scalar": "scalar CTE", "materialized": "MATERIALIZED", "key_expressions": "USING KEY"},
    exp.Table: {"laterals": "LATERAL VIEW", "hints": "table hints",
                "indexed": "INDEXED BY", "system_time": "FOR SYSTEM_TIME", "version": "VERSION AS OF",
                "ordinality": "WITH ORDINALITY", "only": "ONLY",
                "partition": "PARTITION (…)", "rows_from": "ROWS FROM"},
    exp.Lateral: {"view": "LATERAL VIEW", "outer": "LATERAL VIEW OUTER", "cross_apply": "CROSS APPLY",
                  "ordinality": "WITH ORDINALITY"},
    exp.Join: {"global_": "GLOBAL JOIN", "hint": "join hints",
               "nearest": "NEAREST JOIN", "expressions": "JOIN of a list", "pivots": "PIVOT / UNPIVOT"},
    exp.Group: {"totals": "WITH TOTALS", "rollup": "WITH ROLLUP", "cube": "WITH CUBE",
                "grouping_sets": "GROUPING SETS behind the keys"},
    exp.Order: {"this": "ORDER BY inside a call; write WITHIN GROUP (ORDER BY …) behind it",
                "siblings": "ORDER SIBLINGS BY"},
    exp.Ordered: {"with_fill": "WITH FILL"},
    exp.Limit: {"this": "LIMIT inside a call", "offset": "LIMIT offset, count", "expressions": "LIMIT … BY"},
    exp.Offset: {"this": "OFFSET here", "expressions": "OFFSET … BY"},
    exp.LimitOptions: {"percent": "FETCH / TOP … PERCENT", "with_ties": "WITH TIES"},
    exp.Distinct: {"on": "DISTINCT ON"},
    exp.Column: {"shadow": "SHADOW"},
    exp.Identifier: {"global_": "global identifiers", "temporary": "identifiers of temporary objects"},
    exp.Window: {"alias": "named windows", "first": "KEEP (DENSE_RANK …)"},
    exp.WindowSpec: {"exclude": "EXCLUDE in a window frame"},
    exp.Between: {"symmetric": "BETWEEN SYMMETRIC"},
    exp.In: {"unnest": "IN UNNEST", "field": "IN without parentheses", "is_global": "GLOBAL IN"},
    exp.Is: {"negate": "NOTNULL"},
    exp.Like: {"negate": "NOT LIKE as one operator"},
    exp.ILike: {"negate": "NOT ILIKE as one operator"},
    exp.If: {"false": "IF as an expression"},
    exp.Exists: {"expression": "EXISTS of an array"},
    exp.Cast: _CAST_WORDS,
    exp.TryCast: _CAST_WORDS,
    exp.DataType: {"values": "ENUM types", "kind": "user-defined types", "nullable": "nullability in a cast"},
    exp.DataTypeParam: {"expression": "units of a type's length"},
    exp.Bracket: {"safe": "safe subscripts", "returns_list_for_maps": "lists of map values",
                  "json_access": "subscripts of JSON text"},
    exp.StrPosition: {"occurrence": "the n-th occurrence in POSITION"},
    exp.RegexpLike: {"flag": "flags of the RLIKE operator"},
    exp.JSONExtract: {"only_json_types": "the operator ->", "expressions": "several paths at once",
                      "json_query": "JSON_QUERY", "option": "JSON_QUERY wrappers", "quote": "JSON_QUERY quotes",
                      "on_condition": "ON ERROR / ON EMPTY", "emits": "EMITS"},
    exp.Array: {"struct_name_inheritance": "inherited names in arrays", "value_constructor": "ARRAY[…]"},
    exp.Parameter: {"expression": "session variables with a part"},
    exp.Placeholder: {"kind": "placeholders of this kind", "widget": "widgets", "jdbc": "JDBC placeholders"},
    exp.CurrentTimestamp: {"this": "CURRENT_TIMESTAMP with a precision here", "sysdate": "SYSDATE without parentheses"},
    exp.CurrentDate: {"this": "CURRENT_DATE with a time zone"},
    exp.CurrentTime: {"this": "CURRENT_TIME with a precision here"},
    exp.CurrentUser: {"this": "CURRENT_USER with an argument"},
}  # fmt: skip

VALUES: dict[tuple[_Node, str], frozenset[str]] = {
    (exp.Join, "side"): frozenset({"LEFT", "RIGHT", "FULL"}),
    (exp.Join, "kind"): frozenset({"INNER", "OUTER", "CROSS"}),
    (exp.Join, "method"): frozenset({"NATURAL", "ASOF"}),
    (exp.WindowSpec, "kind"): frozenset({"ROWS", "RANGE"}),
    (exp.WindowSpec, "start_side"): frozenset({"PRECEDING", "FOLLOWING"}),
    (exp.WindowSpec, "end_side"): frozenset({"PRECEDING", "FOLLOWING"}),
    (exp.HistoricalData, "this"): frozenset({"AT", "BEFORE", "END"}),
    (exp.HistoricalData, "kind"): frozenset({"TIMESTAMP", "OFFSET", "STATEMENT", "STREAM"}),
    (exp.Window, "over"): frozenset({"OVER"}),
}
_VALUED = frozenset(node for node, _ in VALUES)

_ALLOWED: dict[_Node, frozenset[str]] = {
    node: names | {name for other, name in WITHOUT_EFFECT if other is node} for node, names in READ.items()
}

_CLASS_WORDS: dict[_Node, str] = {
    exp.Filter: "FILTER (WHERE …)", exp.BitwiseOr: "the operator |",
    exp.BitwiseAnd: "the operator &", exp.BitwiseXor: "the operator ^", exp.BitwiseNot: "the operator ~",
    exp.Pivot: "PIVOT / UNPIVOT",
    exp.TableSample: "SAMPLE", exp.IntDiv: "the operator DIV", exp.JSONExtractScalar: "the operator ->>",
    exp.JSONBExtract: "the operator #>", exp.Aliases: "several aliases of one expression", exp.Slice: "array slices",
    exp.StrToDate: "CAST … FORMAT", exp.StrToTime: "CAST … FORMAT", exp.TimeToStr: "CAST … FORMAT",
    exp.ColumnDef: "structured types such as OBJECT(a INT)",
    exp.Into: "SELECT INTO",
}  # fmt: skip


def name_of(kind: _Node) -> str:
    """What a class of nodes is called in an error."""
    return _CLASS_WORDS.get(kind) or errors.words_of(kind)


def argument_name(kind: _Node, argument: str) -> str:
    """What an argument that is not read is called in an error."""
    return WORDS.get(kind, {}).get(argument) or f"{argument.strip('_')} of {name_of(kind)}"


def refuse_unread(tree: exp.Expr) -> None:
    """Raises an error that names the first part of the tree that binding would leave out."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        kind = node.__class__
        allowed = _ALLOWED.get(kind)
        if allowed is None:
            raise errors.unsupported(name_of(kind))
        for name, value in node.args.items():
            if not value:
                continue
            if name not in allowed:
                raise errors.unsupported(argument_name(kind, name))
            if type(value) is list:
                waiting.extend([item for item in value if isinstance(item, exp.Expr)])
            elif isinstance(value, exp.Expr):
                waiting.append(value)
        if kind in _VALUED:
            _check_values(node)


def _check_values(node: exp.Expr) -> None:
    kind = node.__class__
    for name, value in node.args.items():
        known = VALUES.get((kind, name))
        if known is not None and isinstance(value, str) and value and value.upper() not in known:
            raise errors.unsupported(f"{value.upper()} {name_of(kind)}")


def only(node: exp.Expr, *names: str) -> None:
    """Refuses the arguments that this place does not read, though another one may."""
    for name, value in node.args.items():
        if value and name not in names and (node.__class__, name) not in WITHOUT_EFFECT:
            raise errors.unsupported(argument_name(node.__class__, name))

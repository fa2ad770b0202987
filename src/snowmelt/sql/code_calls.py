"""Calls of users' functions in Python: arguments become texts, and the text that comes back a value.

Texts, because both engines and the process that runs the code agree on them for every type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.types import TZ_INSTANT, TZ_OFFSET, DataType, Kind
from snowmelt.core.user_code import UserCode
from snowmelt.sql import notes
from snowmelt.sql.binders import BindsExpressions
from snowmelt.sql.bound import Bound, FromItem, Scope, SourceColumn
from snowmelt.sql.dialect import call, identifier, spark, string
from snowmelt.sql.relations import ScalarRoutine
from snowmelt.sql.table_calls import FromClause, inline_rows

_KINDS = frozenset({
    Kind.NUMBER, Kind.FLOAT, Kind.VARCHAR, Kind.BINARY, Kind.BOOLEAN, Kind.DATE, Kind.TIME, Kind.TIMESTAMP_NTZ,
    Kind.TIMESTAMP_LTZ, Kind.TIMESTAMP_TZ, Kind.VARIANT, Kind.OBJECT, Kind.ARRAY,
})  # fmt: skip
_ROW, ROWS = "row", "rows"
"""Stands before what a table or aggregate function is given: the arguments of one call, or many in JSON."""


def check_types(given: Sequence[DataType]) -> None:
    """Raises for a type that Python is not given."""
    for type_ in given:
        if type_.kind not in _KINDS:
            raise errors.unsupported(f"{type_} in functions in Python", hint="Pass it as VARCHAR or VARIANT.")


def value(binder: BindsExpressions, routine: ScalarRoutine, arguments: dict[str, Bound]) -> Bound:
    """The value of a call of a scalar or an aggregate function."""
    code, returns = routine.code, routine.returns
    assert code is not None and returns is not None
    if binder.scope.in_lambda:
        raise errors.unsupported(f"the Python function {routine.name} inside a lambda", hint="FLATTEN the array first.")
    texts = [as_text(binder, given) for given in arguments.values()]
    if code.shape == "aggregate":
        texts = [string(ROWS), _gathered(texts)]
    found = binder.cast(Bound(_from_text(called(code, texts, routine.name), returns), returns), returns)
    return Bound(
        found.tree,
        returns,
        aggregate=code.shape == "aggregate" or any(given.aggregate for given in arguments.values()),
        volatile=not code.immutable or any(given.volatile for given in arguments.values()),
    )


def rows(sources: FromClause, routine: ScalarRoutine, arguments: dict[str, Bound], node: exp.Expr) -> exp.Expr:
    """The rows of a table function's call, each call a partition of its own."""
    code, declared = routine.code, routine.returns_table
    assert code is not None and declared is not None
    texts = [as_text(sources.expressions, given) for given in arguments.values()]
    found = row_structs(called(code, [string(_ROW), *texts], routine.name), [column.name for column in declared])
    tree = inline_rows(sources, found, [(column.name, types.VARCHAR) for column in declared], node)
    sources.scope.sources[-1] = typed_source(sources.scope.sources[-1], [column.type for column in declared])
    return tree


def row_structs(answer: exp.Expr, names: Sequence[str], number: str | None = None) -> exp.Expr:
    """The rows of a table function's answer, whose values are texts; `number` calls that of the row they came of."""
    parsed = call("from_json", answer, string("array<array<string>>"))
    shown = [*([number] if number is not None else []), *names]
    first = 0 if number is not None else 1
    fields = ", ".join(f"_{index + 1}, get(r, {index + first})" for index in range(len(shown)))
    return spark(f"transform(_0, r -> named_struct({fields}))", parsed, *map(string, shown))


def typed_source(source: FromItem, declared: Sequence[DataType]) -> FromItem:
    columns = [
        SourceColumn(column.name, type_, notes.typed(_from_text(column.tree, type_), type_))
        for column, type_ in zip(source.columns, declared, strict=True)
    ]
    return replace(source, columns=tuple(columns))


def called(code: UserCode, texts: Sequence[exp.Expr], name: str) -> exp.Expr:
    tree = call(code.name, call("array", *texts) if texts else spark("cast(array() as array<string>)"))
    return tree if code.immutable else notes.volatile(tree, name)


def _gathered(texts: Sequence[exp.Expr]) -> exp.Expr:
    """The rows of a group, each as JSON, as one text of JSON."""
    row = call("to_json", call("array", *texts)) if texts else string("[]")
    return call("to_json", call("collect_list", row))


def as_text(binder: BindsExpressions, given: Bound) -> exp.Expr:
    kind = given.type.kind
    if kind in types.SEMI_STRUCTURED:
        scope = Scope(arguments={"GIVEN": given}, caller=binder.scope)
        inner = binder.in_body(binder.environment, scope, binder.queries)
        return inner.bind(exp.Anonymous(this="TO_JSON", expressions=[exp.column("GIVEN")])).tree
    if kind is Kind.BINARY:
        return call("hex", given.tree)
    if kind is Kind.TIMESTAMP_TZ:
        instant, offset = (
            exp.Dot(this=exp.Paren(this=given.tree.copy()), expression=identifier(part))
            for part in (TZ_INSTANT, TZ_OFFSET)
        )
        return spark("concat(cast(_0 as string), '|', cast(_1 as string))", instant, offset)
    return given.tree if kind is Kind.VARCHAR else spark("cast(_0 as string)", given.tree)


def _from_text(text: exp.Expr, type_: DataType) -> exp.Expr:
    """The process has checked that the text stands for a value of the type."""
    kind = type_.kind
    if kind in types.SEMI_STRUCTURED:
        return call("parse_json", text)
    if kind is Kind.BINARY:
        return call("unhex", text)
    if kind is Kind.TIMESTAMP_TZ:
        return spark(
            f"transform(array(split(_0, '[|]')), p -> if(p is null, null, named_struct('{TZ_INSTANT}', "
            f"cast(p[0] as timestamp), '{TZ_OFFSET}', cast(p[1] as int))))[0]", text,
        )  # fmt: skip
    return text if kind is Kind.VARCHAR else spark(f"cast(_0 as {type_.spark})", text)

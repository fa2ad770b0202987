"""The SQL of definitions in Python: functions under `dynamic_table`, `scd_table` or `view` that return text.

Files are read, and never run: what a function computes (a DataFrame, a text put together) is not known here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from snowmelt.core.names import literal

_KINDS = {"dynamic_table": "DYNAMIC TABLE", "scd_table": "SCD TYPE {type} TABLE", "view": "VIEW"}
_DOWNSTREAM = "DOWNSTREAM"
_WORDS = ("refresh_mode", "warehouse", "initialize")


@dataclass(frozen=True, slots=True)
class _Definition:
    statement: str
    line: int
    """Where its query begins."""


def sql_of(text: str) -> str:
    """The definitions as SQL, each query in the lines in which the file has it. Empty for a file that is no Python."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return ""
    written = ""
    for item in sorted(_definitions(tree), key=lambda item: item.line):
        written += "\n" * (item.line - 1 - written.count("\n")) + item.statement + ";"
    return written


def _definitions(tree: ast.Module) -> Iterator[_Definition]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        returned = _returned(node)
        for call in node.decorator_list:
            kind = _kind(call)
            if kind is None or not isinstance(call, ast.Call) or returned is None:
                continue
            query, line = returned
            head = _head(kind, node.name, {word.arg: word.value for word in call.keywords if word.arg is not None})
            body = query.strip().rstrip(";")
            # The text begins behind the quotes; what is stripped in front of it are lines of the file, too.
            skipped = query[: len(query) - len(query.lstrip())].count("\n")
            text = f"{head} FROM ({body})" if kind == "scd_table" else f"{head} AS {body}"
            yield _Definition(text, line + skipped)


def _kind(decorator: ast.expr) -> str | None:
    called = decorator.func if isinstance(decorator, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else None
    return name if name in _KINDS else None


def _returned(function: ast.FunctionDef) -> tuple[str, int] | None:
    """The text that the function returns, if it is one and the only one, and its line."""
    returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    only = returned[0] if len(returned) == 1 else None
    return (only.value, only.lineno) if isinstance(only, ast.Constant) and isinstance(only.value, str) else None


def _head(kind: str, function: str, options: dict[str, ast.expr]) -> str:
    name = _text(options.get("name")) or function
    number = _text(options.get("type")) or "2"
    parts = [f"CREATE {_KINDS[kind].format(type=number)} {name}"]
    if kind == "scd_table":
        parts.append(f"KEY ({', '.join(_texts(options.get('key')))})")
        parts += [f"SEQUENCE BY {', '.join(order)}"] if (order := _texts(options.get("sequence_by"))) else []
        parts += [f"DELETE WHEN {condition}"] if (condition := _text(options.get("delete_when"))) else []
    lag = _text(options.get("target_lag"))
    if lag is not None:
        parts.append(f"TARGET_LAG = {lag if lag.upper() == _DOWNSTREAM else literal(lag)}")
    parts += [f"{word.upper()} = {value}" for word in _WORDS if (value := _text(options.get(word))) is not None]
    return " ".join(parts)


def _text(node: ast.expr | None) -> str | None:
    return str(node.value) if isinstance(node, ast.Constant) and node.value is not None else None


def _texts(node: ast.expr | None) -> Sequence[str]:
    items = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return [text for item in items if (text := _text(item)) is not None]

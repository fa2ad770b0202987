"""Anti-patterns in Python that moves data: DAGs, scripts with pandas or Spark, SQL in strings. Read, and never run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_MOVES = re.compile(
    r"^\s*(?:from|import)\s+(airflow|dagster|prefect|pandas|pyspark|sqlalchemy|psycopg2?|snowflake|pymysql|boto3)\b",
    re.M,
)
_SQL = re.compile(
    r"^\s*(select|insert|merge|create|truncate|delete|update|copy|with)\b.*\b(from|into|table|set)\b", re.I | re.S
)
_INSERT = re.compile(
    r"^\s*insert\s+into\s+([\w.]+)\b(?!.*\bon\s+(conflict|duplicate)\b)(?!.*\bnot\s+exists\b).*\bselect\b", re.I | re.S
)
_RAW = re.compile(
    r"(truncate\s+table|truncate|delete\s+from|drop\s+table(\s+if\s+exists)?)\s+[\w.]*\b(raw|landing|bronze)\w*", re.I
)
_STAR = re.compile(r"^\s*(insert\s+into|create\b.*\bas)\b.*\bselect\s+\*\s+from", re.I | re.S)
_CROSS = re.compile(r"\bcross\s+join\b|\bfrom\s+\w+\s*,\s*\w+\s*(;|$|group|order)", re.I)
_Problem = tuple[str, int, str, str]
"""Id, line, object, message."""


def moves_data(text: str) -> bool:
    return _MOVES.search(text) is not None


def python_problems(tree: ast.Module) -> Iterator[_Problem]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            yield from _handled(node)
        elif isinstance(node, ast.Call):
            yield from _called(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _statement(node.value, node.lineno)
        elif isinstance(node, ast.JoinedStr):
            yield from _put_together(node)
    yield from _dag(tree)


def _handled(node: ast.ExceptHandler) -> Iterator[_Problem]:
    broad = node.type is None or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException"))
    raises = any(isinstance(inside, ast.Raise) for item in node.body for inside in ast.walk(item))
    quiet = all(isinstance(item, ast.Pass | ast.Continue) or _is_print(item) for item in node.body)
    if broad and quiet and not raises:
        yield "DO-04", node.lineno, "except", "a failure is swallowed, and the run goes on as if nothing had happened"


def _is_print(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _name(node.value.func) == "print"


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _words(node: ast.Call) -> dict[str, object]:
    return {word.arg: word.value.value for word in node.keywords if word.arg and isinstance(word.value, ast.Constant)}


def _called(node: ast.Call) -> Iterator[_Problem]:
    name, words = _name(node.func), _words(node)
    first = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
    if name == "to_sql" and words.get("if_exists") == "append":
        yield "PD-01", node.lineno, str(first or name), "a run that is repeated appends its rows again"
    if name == "to_sql" and words.get("if_exists") == "replace":
        yield "PD-07", node.lineno, str(first or name), "the whole table is written anew each time"
    if name in ("mode", "save", "saveAsTable", "insertInto") and "append" in (first, words.get("mode")):
        yield "PD-01", node.lineno, name, "a run that is repeated appends its rows again"


def _statement(text: str, line: int) -> Iterator[_Problem]:
    if not _SQL.search(text):
        return
    if found := _INSERT.search(text):
        yield "PD-01", line, found[1], "each run inserts the same rows again: no key, and no condition"
    if _RAW.search(text):
        yield "PD-05", line, "SQL", "it throws raw rows away"
    if _STAR.search(text):
        yield "PD-04", line, "SQL", "SELECT * takes whatever columns there are that day"
    if _CROSS.search(text):
        yield "DW-05", line, "SQL", "a join without a condition"


def _put_together(node: ast.JoinedStr) -> Iterator[_Problem]:
    text = "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
    yield from _statement(text, node.lineno)
    now = [
        inside
        for inside in ast.walk(node)
        if isinstance(inside, ast.Call) and _name(inside.func) in ("now", "today", "utcnow")
    ]
    if now and _SQL.search(text):
        yield "PD-01", node.lineno, "SQL", "it asks for the time of the run: repeated later, it does something else"


def _dag(tree: ast.Module) -> Iterator[_Problem]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node.func) in ("DAG", "dag")]
    if not calls:
        return
    said = {str(word.arg) for node in ast.walk(tree) if isinstance(node, ast.Call) for word in node.keywords}
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            said |= {str(key.value) for key in node.keys if isinstance(key, ast.Constant)}
    if not said & {"on_failure_callback", "email_on_failure", "email", "sla_miss_callback", "on_failure"}:
        yield "DO-03", calls[0].lineno, "DAG", "nobody is told when it fails"
    if not said & {"retries", "default_retries"}:
        yield "DO-04", calls[0].lineno, "DAG", "a failure that would pass is not tried again"

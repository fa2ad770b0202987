"""What a script writes out though it belongs to where it runs: hosts, buckets, accounts, folders of one machine."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_ADDRESS = re.compile(
    r"(?P<address>(?:(?:postgres(?:ql)?|mysql|mariadb|jdbc:[a-z]+|snowflake|mongodb|redis|amqp|sftp|s3a?|gs|abfss?|wasbs?)"
    r"(?:\+\w+)?)://[^\s/{}$<]*[a-z0-9])"
    r"|(?P<folder>(?:/(?:home|Users|mnt|data|opt|var|srv|tmp)/|[A-Za-z]:[\\/])[\w.-]+)",
    re.IGNORECASE,
)
_WORDS = frozenset({
    "host", "hostname", "server", "account", "bucket", "bucket_name", "dsn", "bootstrap_servers", "warehouse", "dbname",
})  # fmt: skip
_OPENERS = frozenset({"connect", "create_engine", "client", "Connection", "Session", "KafkaConsumer", "KafkaProducer"})
_HERE = re.compile(r"localhost|127\.0\.0\.1|::1|^:memory:$|^$", re.IGNORECASE)


def constants(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The lines, and what stands there; never the value, as an address may hold more than a place."""
    documented = _documentation(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _arguments(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            found = _ADDRESS.match(node.value)
            if found is not None and not _HERE.search(node.value):
                what = "an address" if found["address"] else "a folder of one machine"
                yield node.lineno, f"{what} is written out: it belongs to where this runs"


def _arguments(node: ast.Call) -> Iterator[tuple[int, str]]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name not in _OPENERS:
        return
    for word in node.keywords:
        value = word.value.value if isinstance(word.value, ast.Constant) else None
        if word.arg in _WORDS and isinstance(value, str) and not _HERE.search(value) and not _ADDRESS.match(value):
            yield word.value.lineno, f"{word.arg} is written out: it belongs to where this runs"


def _documentation(tree: ast.Module) -> set[int]:
    """Texts that nobody computes with."""
    return {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }

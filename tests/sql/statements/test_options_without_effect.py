"""An option of a statement works, or is refused, or stands in the list of those that are accepted without effect.

The list is the `WithoutEffect` marks beside the parsers and that of the file formats; docs/reference/sql.md shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import snowmelt
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.loading import format_statements as file_formats
from snowmelt.sql.statements.options import Options, WithoutEffect
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.tokens import SqlText
from tests.support.statement_modules import statement_modules

_SOURCES = Path(snowmelt.__file__).parent
_REFERENCE = _SOURCES.parents[1] / "docs" / "reference" / "sql.md"
_STATEMENTS = (r"sql/statements/", r"features/\w+/\w*statements\.py")
_ONLY_SHOWN = (
    r"runtime/metadata/",
    r"state/",
    r"sql/",
    r"features/\w+/(definitions|listing|\w*statements|ddl)\.py",
)
"""Code that writes down or prints what was said does not do it."""
_KIND = {
    "DirectoryOptions": "stage, DIRECTORY", "ExternalOptions": "stage, COPY", "ContainerOptions": "database, schema",
    "RoutineOptions": "function, procedure",
}  # fmt: skip
_NAMED_BY = {
    ("CreateDynamicTable", "copy_grants"), ("CreateStream", "copy_grants"), ("CreateTable", "copy_grants"),
    ("CreateView", "copy_grants"),
    *((f"Create{name}", "copy_grants") for name in ("Routine", "Function", "Procedure")),
}  # fmt: skip
"""Fields that `runtime/dispatch` reads of whatever statement has them, by name."""
_FIELDS_WITHOUT_EFFECT = {("RefreshStage", "subpath"): "a directory table lists the files that are there"}


@cache
def statement_classes() -> tuple[type[Any], ...]:
    found: dict[type[Any], None] = {}
    for loaded in statement_modules():
        for value in vars(loaded).values():
            if isinstance(value, type) and is_dataclass(value) and value.__module__ == loaded.__name__:
                found[value] = None
    return tuple(found)


@cache
def source(*left_out: str) -> str:
    paths = sorted(_SOURCES.rglob("*.py"))
    pattern = re.compile("|".join(left_out))
    kept = [path for path in paths if not pattern.match(path.relative_to(_SOURCES).as_posix())]
    return "\n".join(path.read_text(encoding="utf-8") for path in kept)


def options() -> Iterator[tuple[type[Any], str, Any]]:
    """Each option of each model, where it is declared, with its annotation."""
    for model in statement_classes():
        if not issubclass(model, Options):
            continue
        hints = get_type_hints(model, include_extras=True)
        for item in fields(model):
            if item.name in vars(model).get("__annotations__", {}):
                yield model, item.name, hints[item.name]


def reason(annotation: Any) -> str | None:
    marks = [mark for mark in annotation.__metadata__ if isinstance(mark, WithoutEffect)]
    return marks[0].reason if marks else None


def is_refused(annotation: Any) -> bool:
    """An option whose reader can only raise has no value to hold."""
    return get_args(annotation)[0] is type(None)


def is_read(name: str) -> bool:
    pattern = rf"\.{name}\b|[\"']({name}|{name.upper()})[\"']"
    return re.search(pattern, source(*_ONLY_SHOWN)) is not None


def test_every_option_is_read_or_refused_or_listed() -> None:
    lost = [
        f"{model.__name__}.{name}"
        for model, name, annotation in options()
        if reason(annotation) is None and not is_refused(annotation) and not is_read(name)
    ]
    lost += [name for name in file_formats.OPTIONS if name not in file_formats.WITHOUT_EFFECT and not is_read(name)]
    assert lost == [], "accepted, and nobody looks at it: make it work, refuse it, or mark it WithoutEffect"


def test_every_field_of_every_statement_is_read() -> None:
    text = source(*_STATEMENTS)
    lost = [
        (model.__name__, item.name)
        for model in statement_classes()
        if not issubclass(model, Options) and not model.__name__.startswith("_")
        for item in fields(model)
        if not re.search(rf"\.{item.name}\b|\b{item.name}=", text)
    ]
    helpers = {("CreateHead", "modifiers"), ("CreateRule", "modifiers")}
    assert {*lost} - helpers == {*_NAMED_BY, *_FIELDS_WITHOUT_EFFECT}


def listed() -> list[str]:
    rows = []
    for model, name, annotation in options():
        why = reason(annotation)
        if why is not None:
            kind = _KIND.get(model.__name__, model.__name__.removesuffix("Options").lower())
            rows.append(f"| {kind} | {name.upper()} | {why} |")
    rows += [f"| file format | {name} | {why} |" for name, why in file_formats.WITHOUT_EFFECT.items()]
    rows += [f"| ALTER STAGE … REFRESH | {name.upper()} | {why} |" for (_, name), why in _FIELDS_WITHOUT_EFFECT.items()]
    return sorted(rows)


def test_the_reference_lists_what_has_no_effect() -> None:
    text = _REFERENCE.read_text(encoding="utf-8")
    section = text.partition("## Options without effect\n")[2].partition("\n## ")[0]
    found = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert sorted(found) == listed(), "\n".join(listed())


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE DATABASE d REPLACE_INVALID_CHARACTERS = TRUE",
        "ALTER SCHEMA s SET REPLACE_INVALID_CHARACTERS = TRUE",
        "ALTER SCHEMA s SET DEFAULT_DDL_COLLATION = 'de'",
        "CREATE TABLE t (a INT) DEFAULT_DDL_COLLATION = 'de'",
        "ALTER TABLE t SET DEFAULT_DDL_COLLATION = 'de'",
        "CREATE FILE FORMAT f TYPE = CSV MULTI_LINE = FALSE",
        "COPY INTO t FROM @s FILE_FORMAT = (TYPE = PARQUET USE_LOGICAL_TYPE = FALSE)",
        "CREATE STAGE s URL = 's3://b/' ENCRYPTION = (TYPE = 'AWS_CSE')",
    ],
)
def test_what_would_change_rows_is_refused(statement: str) -> None:
    with pytest.raises(SnowmeltError, match="Unsupported feature"):
        parse_statement(SqlText(statement))


def test_an_unknown_encryption_is_an_error() -> None:
    with pytest.raises(SnowmeltError, match="ROT13"):
        parse_statement(SqlText("CREATE STAGE s ENCRYPTION = (TYPE = 'ROT13')"))

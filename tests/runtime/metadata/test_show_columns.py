"""SHOW has Snowflake's columns, in its order and with its types, for every kind that parses."""

from __future__ import annotations

from pathlib import Path

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.types import Kind
from snowmelt.features.relations.show import layout_of, listings
from snowmelt.runtime.metadata.information_schema import view_columns
from snowmelt.runtime.results import ResultColumn
from snowmelt.runtime.run import Run
from snowmelt.runtime.session import Session
from snowmelt.sql.statements.show import ShowStatement, shown_kinds
from snowmelt.sql.tokens import SqlText
from tests.runtime.metadata.catalog_objects import fill

_FOLDER = Path(__file__).parent


def _lines(name: str) -> dict[str, str]:
    lines = (_FOLDER / name).read_text(encoding="utf-8").splitlines()
    pairs = (line.partition(": ")[::2] for line in lines if not line.startswith("#"))
    return dict(pairs)


SHOWN = _lines("show_columns.txt")


def _described(column: ResultColumn) -> str:
    word = {Kind.TIMESTAMP_LTZ: ":ts", Kind.NUMBER: ":n"}.get(column.type.kind, "")
    return f"{column.name}{word}"


@pytest.mark.parametrize("form", sorted(SHOWN))
def test_columns(form: str, meta: Session) -> None:
    fill(meta)
    result = meta.execute(f"SHOW {form}")
    assert ", ".join(_described(column) for column in result.columns) == SHOWN[form]


def test_every_kind_has_columns() -> None:
    assert {kind for kind in shown_kinds() if kind not in SHOWN} == {"GRANTS", "ORGANIZATION ACCOUNTS"}


def test_rows_mention_only_columns_that_are_shown(meta: Session) -> None:
    """A misspelt key would be a column that is silently NULL. Kinds that share rows may show less of them."""
    fill(meta)
    run = Run(meta, SqlText("SHOW"))
    shared = {"OBJECTS": "TABLES", "PROCEDURES": "FUNCTIONS", "USER PROCEDURES": "FUNCTIONS"}
    for kind, listing in listings().items():
        wide = shared.get(kind, kind)
        forms = [ShowStatement(kind), ShowStatement(wide), ShowStatement(kind, terse=True)]
        if kind == "GRANTS":
            forms.append(ShowStatement(kind, grants=SqlText("ON ACCOUNT")))
        known = {
            column.name for form in [*forms, ShowStatement(kind, history=True)] for column in layout_of(form) or ()
        }
        with meta.account.state.read() as state:
            for row in listing.rows(run, state, ShowStatement(kind)):
                assert set(row) <= known, f"SHOW {kind}: {set(row) - known}"


def test_grants_by_form(meta: Session) -> None:
    on = meta.execute("SHOW GRANTS ON DATABASE snowmelt")
    to_role = meta.execute("SHOW GRANTS TO ROLE sysadmin")
    of = meta.execute("SHOW GRANTS OF ROLE sysadmin")
    bare = meta.execute("SHOW GRANTS")
    assert [len(item.columns) for item in (on, to_role, of, bare)] == [9, 8, 5, 9]
    assert [column.name for column in of.columns] == ["created_on", "role", "granted_to", "grantee_name", "granted_by"]


def test_organization_accounts_are_refused_by_name(meta: Session) -> None:
    with pytest.raises(SnowmeltError, match="SHOW ORGANIZATION ACCOUNTS"):
        meta.execute("SHOW ORGANIZATION ACCOUNTS")


def test_information_schema_columns() -> None:
    expected = _lines("information_schema_columns.txt")
    shown = {
        name: "; ".join(f"{column.name} {column.type}" for column in columns)
        for name, columns in view_columns().items()
    }
    assert shown == expected

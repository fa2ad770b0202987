"""The SQL of designs is what the product takes: stages by an account, gates and steps by binder and parser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.design.antipatterns.library import library
from snowmelt.design.building.statements import kept_tables
from snowmelt.design.deciding import decide
from snowmelt.design.making.designing import design
from snowmelt.design.model import Design
from snowmelt.design.requirements.missing import questions
from snowmelt.design.requirements.model import Requirements
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.tokens import split_statements


def designs() -> Iterator[tuple[str, Design]]:
    for path in sorted((Path(__file__).parent / "cases").glob("*.yaml")):
        given = Requirements.model_validate(yaml.safe_load(path.read_text(encoding="utf-8"))["requirements"])
        verdict = decide(given)
        if verdict.final and not any(item.essential for item in questions(given)):
            yield path.stem, design(given, verdict)


DESIGNS = dict(designs())


def test_an_account_takes_every_stage(tmp_path: Path) -> None:
    with open_account(tmp_path, settings=Settings()) as account:
        session = account.session()
        for number, made in enumerate(DESIGNS.values()):
            session.execute(f"CREATE SCHEMA s{number}")
            for stage in made.stages:
                # Filled later: that it can be refreshed by changes is decided here.
                session.execute(stage.sql.replace("REFRESH_MODE =", "INITIALIZE = ON_SCHEDULE\n  REFRESH_MODE ="))
            kept = {str(row[0]) for row in session.execute("SELECT GET_DDL('SCHEMA', CURRENT_SCHEMA())").rows()}
            assert all(stage.name.upper() in next(iter(kept)).upper() for stage in made.stages)
        session.close()
        assert not account.engine.started.is_set()


@pytest.mark.parametrize("name", DESIGNS)
def test_gates_and_steps_can_be_read(name: str) -> None:
    made = DESIGNS[name]
    there = [(name, f"CREATE TABLE {name} ({', '.join(table.key)} INT)") for name, table in made.models.items()]
    catalog = library([*there, *kept_tables(), *((stage.name, stage.sql) for stage in made.stages)])
    for gate in made.quality:
        if "INFORMATION_SCHEMA" not in gate.sql:
            assert [column.name for column in catalog.bind(gate.sql).columns] == ["BREACHES"]
    for step in (*made.backfill, *made.replay, *made.rollback):
        for statement in split_statements(step.sql or ""):
            parse_statement(statement)
    for alert in made.alerts:
        if alert.sql is not None:
            parse_statement(alert.sql)
    for source in made.sources:
        if source.setup_sql is not None:
            parse_statement(source.setup_sql)

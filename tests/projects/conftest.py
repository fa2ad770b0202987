"""Projects need no Spark, except to fill dynamic tables: those here wait for a schedule that never comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.cli.projects import planned
from snowmelt.core.config import Settings
from snowmelt.projects.applying import apply_plan
from snowmelt.projects.catalog import Execute
from snowmelt.projects.plan import ProjectPlan
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session


@pytest.fixture(scope="session")
def project_account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    folder: Path = tmp_path_factory.mktemp("projects")
    with open_account(folder, settings=Settings()) as opened:
        yield opened
        assert not opened.engine.started.is_set(), "planning started Spark"


class Project:
    """A folder that a test writes to, and a database of its own."""

    def __init__(self, folder: Path, session: Session, database: str) -> None:
        self.folder = folder
        self.session = session
        self.database = database
        self.write("snowmelt.toml", f'[project]\nname = "test"\ndatabase = "{database}"\nwarehouse = "COMPUTE_WH"\n')

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def remove(self, name: str) -> None:
        (self.folder / name).unlink()

    def plan(self, execute: Execute | None = None) -> ProjectPlan:
        return planned(execute or self.session.execute, self.folder, None, None)[0]

    def apply(self, execute: Execute | None = None, *, allow_drop: bool = False) -> ProjectPlan:
        plan, catalog = planned(execute or self.session.execute, self.folder, None, None)
        apply_plan(plan, catalog, allow_drop=allow_drop, announce=lambda *_: None)
        return plan

    def steps(self) -> list[tuple[str, str]]:
        """Action and name, without the project's database and schema."""
        prefix = f"{self.database}.PUBLIC."
        return [(step.action.value, step.name.removeprefix(prefix)) for step in self.plan().steps]


@pytest.fixture
def project(project_account: Account, tmp_path: Path) -> Iterator[Project]:
    session = project_account.session()
    database = f"P{session.id}"
    yield Project(tmp_path / "project", session, database)
    session.close()
    with project_account.state.begin() as state:
        if state.catalog.database(database) is not None:
            state.catalog.drop_database(database, state.now)


Interrupt = Callable[[str], Execute]


@pytest.fixture
def interrupted(project: Project) -> Interrupt:
    """An `execute` that is cut off right after (`after`) the statement that begins with some words."""

    def cut(words: str) -> Execute:
        def execute(text: str) -> object:
            result = project.session.execute(text)
            if text.upper().startswith(words):
                raise KeyboardInterrupt
            return result

        return execute  # type: ignore[return-value]

    return cut

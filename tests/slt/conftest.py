"""Collects .slt files: each is one test."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from snowmelt.runtime.account import Account
from tests.support.slt import SltFile


class SltMismatchError(Exception):
    pass


class SltItem(pytest.Function):
    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        if isinstance(excinfo.value, SltMismatchError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


class SltModule(pytest.File):
    def collect(self) -> Iterable[pytest.Item]:
        path = self.path
        rewrite = self.config.getoption("--rewrite")

        def test(account: Account) -> None:
            problems = SltFile(account, path).run(rewrite=rewrite)
            if problems:
                raise SltMismatchError("\n\n".join(problems))

        yield SltItem.from_parent(self, name=path.stem, callobj=test)


def pytest_collect_file(parent: pytest.Collector, file_path: Path) -> pytest.Collector | None:
    return SltModule.from_parent(parent, path=file_path) if file_path.suffix == ".slt" else None

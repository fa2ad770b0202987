"""`snowmelt connector …`, on a directory of its own; no source is asked that is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from snowmelt.cli.main import app

_CREATE = (
    "create", "shop", "--host", "127.0.0.1", "--port", "1", "--database", "shop", "--user", "reader",
    "--table", "orders", "--table", "sales.items", "--target", "mirror", "--deletes", "soft", "--paused",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


def call(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["connector", *arguments, "--data", str(folder)])


def test_the_life_of_a_connector(folder: Path) -> None:
    assert call(folder, *_CREATE).exit_code == 0
    (listed,) = json.loads(call(folder, "list", "--format", "json").stdout)
    assert (listed["name"], listed["tables"], listed["state"]) == ("SHOP", "public.orders, sales.items", "PAUSED")
    assert call(folder, "resume", "shop").exit_code == 0
    assert call(folder, "pause", "shop").exit_code == 0
    assert call(folder, "snapshot", "shop", "--table", "orders").exit_code == 0
    (described,) = json.loads(call(folder, "status", "shop", "--format", "json").stdout)
    assert described["target"] == "MIRROR"
    checked = call(folder, "check", "shop")
    assert checked.exit_code == 1
    assert "MISSING" in checked.stdout
    assert call(folder, "drop", "shop").exit_code == 0
    assert json.loads(call(folder, "list", "--format", "json").stdout) == []


def test_errors_are_in_the_exit_code(folder: Path) -> None:
    failed = call(folder, "pause", "nothing")
    assert failed.exit_code == 1
    assert "does not exist" in failed.stderr

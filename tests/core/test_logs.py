"""What a program that uses the package hears without having set logging up."""

from __future__ import annotations

from pathlib import Path

import pytest
import structlog

from snowmelt.accounts import open_account


@pytest.fixture
def not_set_up() -> None:
    structlog.reset_defaults()


@pytest.mark.usefixtures("not_set_up")
def test_no_news_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_account(tmp_path / "data") as account:
        account.audit.write("LOGIN", user="ANN", succeeded=False)
        account.audit.write("LOGIN", user="ANN")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")

"""A database with every kind of policy, whose values name what hides them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.support.slt import drop_database

_WORDS = ("MASKED", "CONDITION", "TAGGED", "ROWHIDDEN", "HELDBACK", "SINGLE")
_NUMBERS = ("87654001", "87654002", "87654003")


def hidden_in(text: str) -> set[str]:
    """The hidden values in a text. What a statement says itself is no secret."""
    words = {word for word in _WORDS if f"{word}-" in text}
    return words | {number for number in _NUMBERS if re.search(rf"(?<![\w.]){number}(?!\w)", text)}


ALL_HIDDEN = {*_WORDS, *_NUMBERS}


@pytest.fixture(scope="module")
def admin(account: Account) -> Iterator[Session]:
    session = account.session()
    session.execute_script((Path(__file__).parent / "set_up.sql").read_text(encoding="utf-8"))
    yield session
    drop_database(account, "PM")
    session.execute_script("DROP USER pm_reader; DROP ROLE pm_reader")
    session.close()

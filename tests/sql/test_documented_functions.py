"""Functions that Snowflake documents are here or refused by name; hints are near."""

from __future__ import annotations

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.sql.functions import documented
from snowmelt.sql.functions.catalog import ELSEWHERE, FUNCTIONS, lookup
from tools import compatibility_reference


def refusal(name: str) -> SnowmeltError:
    with pytest.raises(SnowmeltError) as found:
        lookup(name)
    return found.value


def test_what_snowflake_documents_is_never_unknown() -> None:
    for name in ELSEWHERE:
        assert refusal(name).code == "000002", name
        assert name in refusal(name).message


def test_no_name_is_listed_twice() -> None:
    listed = [name for names in documented.categories().values() for name in names]
    assert len(listed) == len(set(listed))


def test_a_hint_is_near_or_absent() -> None:
    assert refusal("NO_SUCH_THING_AT_ALL").hint is None
    assert "SUM" in str(refusal("SUMM").hint)


def test_the_page_has_every_name_and_its_state() -> None:
    page = compatibility_reference.render()
    assert page == compatibility_reference.TARGET.read_text(encoding="utf-8"), "run make docs"
    for name in documented.names():
        row = f"| {name} | here |" if name in FUNCTIONS and FUNCTIONS[name].refusal is None else f"| {name} | "
        assert row in page
    assert "| COMPRESS | refused by name |" in page
    assert "| INSERT ALL INTO t SELECT 1 | here |" in page
    assert "| CREATE / ALTER / DROP EXTERNAL TABLE | refused by name: " in page

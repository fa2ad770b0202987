"""Types that Snowflake has and that are not here are refused by name, with what to use, wherever a type may stand."""

from __future__ import annotations

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.type_errors import ELSEWHERE
from snowmelt.runtime.declaring import type_of
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.statements.columns import column_spec
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.tokens import SqlText
from tests.sql.test_binder_fuzz import ENVIRONMENT

SPELLED = {
    "ARRAY(…)": "ARRAY(INT)", "DECFLOAT": "DECFLOAT", "FILE": "FILE", "GEOGRAPHY": "GEOGRAPHY", "GEOMETRY": "GEOMETRY",
    "INTERVAL": "INTERVAL DAY TO SECOND", "MAP(…)": "MAP(VARCHAR, INT)", "OBJECT(…)": "OBJECT(a INT)",
    "VECTOR": "VECTOR(FLOAT, 3)",
}  # fmt: skip


def refusal_of_column(text: str) -> SnowmeltError:
    with pytest.raises(SnowmeltError) as refusal:
        spec = column_spec(TokenCursor(SqlText(f"a {text} NOT NULL")))
        assert spec.type is not None
        type_of(spec.type)
    return refusal.value


def refusal_of_cast(text: str) -> SnowmeltError:
    with pytest.raises(SnowmeltError) as refusal:
        QueryBinder(ENVIRONMENT).bind(parse_snowflake(f"SELECT v::{text} FROM t"))
    return refusal.value


def test_every_one_is_tried() -> None:
    assert SPELLED.keys() == ELSEWHERE.keys()


@pytest.mark.parametrize("name", ELSEWHERE)
def test_in_a_table(name: str) -> None:
    error = refusal_of_column(SPELLED[name])
    assert (error.code, error.hint) == ("000002", ELSEWHERE[name])
    assert SPELLED[name] in error.message


# The grammar of casts has no FILE and no INTERVAL, and refuses what OBJECT(…) has inside.
@pytest.mark.parametrize("name", [name for name in ELSEWHERE if name not in ("FILE", "INTERVAL", "OBJECT(…)")])
def test_in_a_cast(name: str) -> None:
    error = refusal_of_cast(SPELLED[name])
    assert (error.code, error.hint) == ("000002", ELSEWHERE[name])


def test_what_is_no_type_is_not_supported_either() -> None:
    assert refusal_of_column("NUMBRE").code == refusal_of_column("NUMBER(99)").code == "002040"

"""Lineage of the dbt example against `dbt.txt`, which was written by hand."""

from __future__ import annotations

import re
from pathlib import Path

from snowmelt.runtime.session import Session
from tests.features.lineage.conftest import Ask, edges

_HERE = Path(__file__).parent
_MODELS = _HERE.parents[2] / "examples" / "dbt_data_product" / "models"
_CONFIG = re.compile(r"\{\{\s*config\(.*?\)\s*\}\}", re.DOTALL)
_NAMED = re.compile(r"\{\{\s*(?:ref|source)\((?:'[^']*',\s*)?'([^']*)'\)\s*\}\}")


def _compiled(path: str) -> str:
    """The model as dbt gives it to the server, where names stand for references."""
    text = (_MODELS / path).read_text(encoding="utf-8")
    return _NAMED.sub(r"\1", _CONFIG.sub("", text))


def test_columns_come_from_where_the_truth_says(own_session: Session, ask: Ask) -> None:
    own_session.execute("CREATE TABLE raw_events (event VARIANT, loaded_at TIMESTAMP_NTZ) CHANGE_TRACKING = TRUE")
    own_session.execute(f"CREATE VIEW stg_order_events AS {_compiled('staging/stg_order_events.sql')}")
    own_session.execute(
        "CREATE DYNAMIC TABLE orders TARGET_LAG = '1 minute' WAREHOUSE = compute_wh INITIALIZE = ON_SCHEDULE AS "
        + _compiled("product/orders.sql")
    )
    lines = [line for line in (_HERE / "dbt.txt").read_text(encoding="utf-8").splitlines() if "<-" in line]
    truth = {" -> ".join(reversed(line.split(" <- "))) for line in lines}

    found = ask(own_session, "raw_events.event", "DOWNSTREAM")
    assert edges(found) == truth
    assert edges(ask(own_session, "raw_events.loaded_at", "DOWNSTREAM")) == set()

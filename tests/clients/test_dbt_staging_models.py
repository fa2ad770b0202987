"""A dbt project as they are commonly written: fifty models, each with the common tables `source` and `renamed`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from snowmelt.runtime.account import Account
from tests.clients.conftest import Client, passed

STAGING, INTERMEDIATE, MARTS = 30, 15, 5
FEATURES = Path(__file__).parent / "dbt_features"
SCHEMA = "FIFTY"
_PROJECT = """name: fifty
version: "1.0.0"
profile: snowmelt
flags:
  send_anonymous_usage_stats: false
models:
  fifty:
    +materialized: view
"""
_STAGING = """with source as (select * from raw.raw_{raw}),
renamed as (select id as key_{place}, amount + {place} as amount_{place} from source)
select * from renamed
"""
_JOINED = """with source as (select * from {{{{ ref('{left}') }}}}),
renamed as (
    with source as (select * from {{{{ ref('{right}') }}}})
    select * from source
)
select s.{left_key} as {key}, s.{left_amount} + r.{right_amount} as {amount}
from source as s join renamed as r on s.{left_key} = r.{right_key}
"""
_MART = "{{{{ config(materialized='{how}', {options}) }}}}\n"
_DYNAMIC = "target_lag='1 hour', snowflake_warehouse='compute_wh'"


def _joined(place: int, below: str, of: int) -> str:
    left, right = (2 * place) % of, (2 * place + 1) % of
    return _JOINED.format(
        left=f"{below}_{left}", right=f"{below}_{right}", left_key=f"key_{left}", right_key=f"key_{right}",
        left_amount=f"amount_{left}", right_amount=f"amount_{right}", key=f"key_{place}", amount=f"amount_{place}",
    )  # fmt: skip


def _models() -> dict[str, str]:
    found = {f"stg_{place}": _STAGING.format(raw=place % 3, place=place) for place in range(STAGING)}
    found |= {f"int_{place}": _joined(place, "stg", STAGING) for place in range(INTERMEDIATE)}
    for place in range(MARTS):
        how = "dynamic_table" if place == 0 else "table"
        head = _MART.format(how=how, options=_DYNAMIC if place == 0 else "transient=false")
        found[f"mart_{place}"] = head + _joined(place, "int", INTERMEDIATE)
    return found


def _amounts() -> list[int]:
    """What each mart's amount of a row adds to that of the raw row, four of which are in it."""
    staged = list(range(STAGING))
    joined = [staged[(2 * p) % STAGING] + staged[(2 * p + 1) % STAGING] for p in range(INTERMEDIATE)]
    return [joined[(2 * p) % INTERMEDIATE] + joined[(2 * p + 1) % INTERMEDIATE] for p in range(MARTS)]


@pytest.mark.slow
def test_fifty_models_with_the_same_common_tables(
    tmp_path: Path, client: Client, account: Account, database: str
) -> None:
    models = _models()
    assert len(models) == 50
    (tmp_path / "project" / "models").mkdir(parents=True)
    (tmp_path / "project" / "dbt_project.yml").write_text(_PROJECT, encoding="utf-8")
    shutil.copy(FEATURES / "profiles.yml", tmp_path / "project")
    for name, text in models.items():
        (tmp_path / "project" / "models" / f"{name}.sql").write_text(text, encoding="utf-8")
    session = account.session(database=database)
    session.execute("CREATE SCHEMA raw")
    for place in range(3):
        session.execute(f"CREATE TABLE raw.raw_{place} AS SELECT column1 AS id, 100 AS amount FROM VALUES (1), (2)")
    passed(
        client(
            "dbt",
            "dbt",
            "--no-use-colors",
            "build",
            "--no-version-check",
            cwd=tmp_path / "project",
            SNOWMELT_SCHEMA=SCHEMA,
            DBT_PROFILES_DIR=str(tmp_path / "project"),
        )
    )
    for place, more in enumerate(_amounts()):
        rows = session.execute(f"SELECT key_{place}, amount_{place} FROM {SCHEMA}.mart_{place} ORDER BY 1").rows()
        assert rows == [(1, 400 + more), (2, 400 + more)], f"mart_{place}"
    session.close()

"""The stages as dbt models, for the recipe dbt: dynamic tables with their tests and sources declared."""

from __future__ import annotations

import re
from typing import Any

import yaml

from snowmelt.design.making.stages import DOWNSTREAM, WAREHOUSE
from snowmelt.design.model import Design, DesignStage, StageKind
from snowmelt.design.requirements.model import Check

_SOURCE = "raw"
_TESTS = {Check.NOT_NULL: "not_null", Check.UNIQUE: "unique"}


def dbt_files(design: Design) -> dict[str, str]:
    """A dbt project for the adapter dbt-snowflake. Raw tables are its sources."""
    name = design.name.lower()
    project = {
        "name": name, "version": "1.0.0", "config-version": 2, "profile": name, "model-paths": ["models"],
        "models": {name: {"+materialized": "dynamic_table"}},
    }  # fmt: skip
    found = {
        "dbt_project.yml": _yaml(project),
        "profiles.yml": _profile(name),
        "models/models.yml": _yaml(_declared(design)),
    }
    for stage in design.stages:
        if stage.kind is StageKind.DYNAMIC_TABLE:
            folder = "marts" if stage.layer == "gold" else "staging"
            found[f"models/{folder}/{stage.name.lower()}.sql"] = _model(design, stage)
    return {f"dbt/{path}": text for path, text in found.items()}


def _profile(name: str) -> str:
    """A server of Snowmelt, which dbt-snowflake takes for Snowflake. Secrets come from the environment."""
    output = {
        "type": "snowflake", "account": "snowmelt", "host": "{{ env_var('SNOWMELT_HOST', 'localhost') }}",
        "port": "{{ env_var('SNOWMELT_PORT', '8084') | int }}", "protocol": "http",
        "user": "{{ env_var('SNOWMELT_USER', 'admin') }}", "password": "{{ env_var('SNOWMELT_PASSWORD') }}",
        "database": "{{ env_var('SNOWMELT_DATABASE', 'SNOWMELT') }}",
        "schema": "{{ env_var('SNOWMELT_SCHEMA', 'PUBLIC') }}", "warehouse": WAREHOUSE, "threads": 1,
    }  # fmt: skip
    return _yaml({name: {"target": "snowmelt", "outputs": {"snowmelt": output}}})


def _model(design: Design, stage: DesignStage) -> str:
    lag = stage.target_lag or DOWNSTREAM
    query = stage.sql.partition("\nAS\n")[2]
    for name in stage.reads:
        called = f"{{{{ ref('{name.lower()}') }}}}" if _is_model(design, name) else _source(name)
        query = re.sub(rf"\b(FROM|JOIN)\s+{re.escape(name)}\b", rf"\1 {called}", query, flags=re.IGNORECASE)
    options = f"target_lag='{lag}', snowflake_warehouse='{WAREHOUSE}', refresh_mode='INCREMENTAL'"
    return f"{{{{ config({options}) }}}}\n\n{query}\n"


def _is_model(design: Design, name: str) -> bool:
    """What is no dynamic table is made by the pipeline, or by others: to dbt it is a source."""
    read = design.stage(name)
    return read is not None and read.kind is StageKind.DYNAMIC_TABLE


def _source(name: str) -> str:
    return f"{{{{ source('{_SOURCE}', '{name.lower()}') }}}}"


def _declared(design: Design) -> dict[str, Any]:
    read = dict.fromkeys(name.lower() for stage in design.stages for name in stage.reads if stage.layer != "bronze")
    raw = [{"name": name} for name in read if not _is_model(design, name)]
    models = [_documented(design, stage) for stage in design.stages if stage.kind is StageKind.DYNAMIC_TABLE]
    # Without them dbt looks for a schema that is called as the source is.
    target = {"database": "{{ target.database }}", "schema": "{{ target.schema }}"}
    return {"version": 2, "sources": [{"name": _SOURCE, **target, "tables": raw}], "models": models}


def _documented(design: Design, stage: DesignStage) -> dict[str, Any]:
    """Gates of one column are tests that dbt has; all are run by the pipeline's own gates too."""
    columns: dict[str, list[str]] = {}
    for gate in design.quality:
        if gate.rule.table.lower() == stage.name.lower() and len(gate.rule.columns) == 1 and gate.rule.check in _TESTS:
            columns.setdefault(gate.rule.columns[0], []).append(_TESTS[gate.rule.check])
    listed = [{"name": name, "data_tests": tests} for name, tests in columns.items()]
    return {"name": stage.name.lower(), "description": stage.description, "columns": listed}


def _yaml(data: dict[str, Any]) -> str:
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120))

"""The requirements file describes itself: every field, and the right word next to a wrong one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from snowmelt.design.requirements.model import Requirements
from snowmelt.design.requirements.proposing import models_in
from tests.design.building import call

_ENOUGH: dict[str, Any] = {
    "name": "shop", "latency": "1 hour", "volume": {"per_day": "1 GB"}, "pii": {"present": False},
    "sources": [{"name": "db", "kind": "postgres", "tables": [{"name": "public.orders", "key": ["id"]}]}],
    "sinks": [{"name": "mart", "kind": "snowmelt"}],
}  # fmt: skip


def _parts(model: type[BaseModel], seen: set[type[BaseModel]]) -> Iterator[type[BaseModel]]:
    if model in seen:
        return
    seen.add(model)
    yield model
    for field in model.model_fields.values():
        for inside in models_in(field.annotation):
            yield from _parts(inside, seen)


def test_every_field_is_described() -> None:
    parts = list(_parts(Requirements, set()))
    assert len(parts) >= 12
    fields = [(part.__name__, name, field) for part in parts for name, field in part.model_fields.items()]
    assert len(fields) >= 90
    assert [f"{part}.{name}" for part, name, field in fields if not (field.description or "").strip()] == []


def test_the_published_schema_has_the_descriptions() -> None:
    schema = yaml.safe_load(call("design", "schema").stdout)
    Draft202012Validator.check_schema(schema)
    objects = [schema, *(part for part in schema["$defs"].values() if part.get("type") == "object")]
    bare = [f"{part['title']}.{name}" for part in objects for name, field in part["properties"].items()
            if "description" not in field]  # fmt: skip
    assert bare == []


@pytest.mark.parametrize(
    ("change", "meant"),
    [
        ({"latancy": "1 hour"}, "latency"),
        ({"sinks": [{"name": "mart", "kind": "snowmelt", "realtime": True}]}, "real_time"),
        ({"sources": [{"name": "db", "kind": "postgresql", "tables": []}]}, "postgres"),
        ({"sources": [{"name": "db", "kind": "files", "tables": [{"name": "x", "keys": ["id"]}]}]}, "key"),
        ({"volume": {"per_days": "1 GB"}}, "per_day"),
        ({"mode": "streaming"}, "STREAMING"),
        ({"mode": "realtime"}, "STREAMING"),
        ({"recipe": "strem"}, "stream"),
        ({"history": "ful"}, "full"),
        ({"pii": {"present": True, "strategy": "encrypt"}}, "hash"),
        ({"pii": {"present": True, "stratgy": "hash"}}, "strategy"),
        ({"availability": "crticial"}, "critical"),
        ({"orchestrator": "aiflow"}, "airflow"),
        ({"shape": "obt"}, "one_big_table"),
        ({"compliance": ["gpdr"]}, "gdpr"),
        ({"sinks": [{"name": "mart", "kind": "snowmelt", "load": "scd2"}]}, "scd_type_2"),
        ({"quality": [{"check": "uniqe", "table": "stg_orders", "columns": ["id"]}]}, "unique"),
    ],
)
def test_a_wrong_word_is_answered_with_the_nearest_right_one(
    tmp_path: Path, change: dict[str, Any], meant: str
) -> None:  # fmt: skip
    path = tmp_path / "r.yaml"
    path.write_text(yaml.safe_dump({**_ENOUGH, **change}), encoding="utf-8")
    result = call("design", "-f", str(path), "-o", str(tmp_path / "out"), "--non-interactive")
    assert result.exit_code == 3
    assert f"Did you mean {meant}?" in result.stderr, result.stderr


def test_a_word_that_is_near_nothing_gets_no_proposal(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(yaml.safe_dump({**_ENOUGH, "zzzz": 1}), encoding="utf-8")
    result = call("design", "-f", str(path), "-o", str(tmp_path / "out"), "--non-interactive")
    assert result.exit_code == 3 and "zzzz" in result.stderr and "Did you mean" not in result.stderr

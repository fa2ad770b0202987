"""The contract of the dbt example says what its model declares."""

from __future__ import annotations

from pathlib import Path

import yaml

from snowmelt.core.types import parse_type
from snowmelt.govern.contracts.reading import examine, read

EXAMPLE = Path(__file__).parents[3] / "examples" / "dbt_data_product"


def test_the_contract_of_the_example_is_complete_and_agrees_with_the_model() -> None:
    text = (EXAMPLE / "contracts" / "orders.yaml").read_text(encoding="utf-8")
    assert examine(text).findings == ()
    model = yaml.safe_load((EXAMPLE / "models" / "product" / "_product.yml").read_text(encoding="utf-8"))["models"][0]
    declared = {
        item["name"].upper(): (parse_type(item["data_type"]), {"type": "not_null"} in item.get("constraints", []))
        for item in model["columns"]
    }
    promised = {item.name: (item.type.physical, item.required) for item in read(text).tables[0].columns}
    assert promised == declared

"""The contracts of published tables as documents of the Open Data Contract Standard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from snowmelt.design.making.clean_tables import named
from snowmelt.design.model import Design, DesignContract
from snowmelt.design.requirements.amounts import seconds_of

_DESCRIBED = "A table of the pipeline {}."


def contract_files(design: Design) -> Iterator[tuple[str, str]]:
    """Those whose columns are known; the others are made from their tables when those are there."""
    for contract in design.contracts:
        if contract.columns:
            yield f"contracts/{contract.name}.yaml", _document(design, contract)


def made_from_tables(design: Design) -> list[dict[str, str]]:
    """Contracts whose columns nobody could tell before, as the configuration has them."""
    return [{"name": item.name, "table": item.stage} for item in design.contracts if not item.columns]


def _document(design: Design, contract: DesignContract) -> str:
    stage = design.stage(contract.stage)
    about = (stage.description if stage is not None else "") or _DESCRIBED.format(design.name)
    data: dict[str, Any] = {
        "apiVersion": "v3.1.0", "kind": "DataContract", "id": f"{design.name.lower()}-{contract.stage.lower()}",
        "name": contract.name, "version": contract.version, "status": "active", "description": {"purpose": about},
        "team": {"name": design.owner},
        "slaProperties": [{"property": "freshness", "value": int(seconds_of(contract.freshness)), "unit": "s"}],
        "customProperties": [{"property": "compatibility", "value": contract.compatibility.lower()}],
        "schema": [{
            "name": contract.stage,
            "properties": [
                {"name": named(column.name), "physicalType": column.type,
                 **({"description": column.description} if column.description else {}),
                 **({"tags": ["pii"]} if column.pii else {})}
                for column in contract.columns
            ],
        }],
    }  # fmt: skip
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120))

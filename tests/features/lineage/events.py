"""OpenLineage events, read and held to the models of the standard's own client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def events_in(file: Path) -> list[dict[str, Any]]:
    """All that were written, each of them valid."""
    found = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for item in found:
        validated(item)
    return found


def validated(found: dict[str, Any]) -> None:
    """Raises when the event is not one: the client's models are made from the standard's schemas."""
    pytest.importorskip("openlineage.client", reason="the lock file's dev group has it")
    from openlineage.client import event_v2, facet_v2  # noqa: PLC0415

    def facets(given: dict[str, Any]) -> None:
        for facet in given.values():
            name = facet["_schemaURL"].rpartition("/")[2]
            model = next(
                getattr(module, name)
                for module in vars(facet_v2).values()
                if hasattr(module, name) and hasattr(getattr(module, name), "_get_schema")
            )
            values = {key: value for key, value in facet.items() if not key.startswith("_")}
            assert model(**values)._schemaURL == facet["_schemaURL"]

    def inside(given: dict[str, Any]) -> None:
        """The parts of facets, which their models take as they are."""
        lineage = given.get("columnLineage", {"fields": {}, "dataset": []})
        for item in (*lineage["dataset"], *(i for f in lineage["fields"].values() for i in f["inputFields"])):
            steps = [facet_v2.column_lineage_dataset.Transformation(**step) for step in item["transformations"]]
            facet_v2.column_lineage_dataset.InputField(**{**item, "transformations": steps})
        for item in given.get("schema", {"fields": []})["fields"]:
            facet_v2.schema_dataset.SchemaDatasetFacetFields(**item)

    facets(found["run"]["facets"])
    facets(found["job"]["facets"])
    for dataset in (*found["inputs"], *found["outputs"]):
        facets(dataset["facets"])
        inside(dataset["facets"])
        facets(dataset.get("outputFacets", {}))
        facets(dataset.get("inputFacets", {}))
        for said in dataset.get("inputFacets", {}).get("dataQualityAssertions", {}).get("assertions", ()):
            facet_v2.data_quality_assertions_dataset.Assertion(**said)
    made = event_v2.RunEvent(
        eventType=event_v2.RunState(found["eventType"]),
        eventTime=found["eventTime"],
        producer=found["producer"],
        run=event_v2.Run(found["run"]["runId"]),
        job=event_v2.Job(found["job"]["namespace"], found["job"]["name"]),
        inputs=[event_v2.InputDataset(item["namespace"], item["name"]) for item in found["inputs"]],
        outputs=[event_v2.OutputDataset(item["namespace"], item["name"]) for item in found["outputs"]],
    )
    assert made.schemaURL == found["schemaURL"]

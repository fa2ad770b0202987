"""Destinations of a built project, as `snowmelt forget` searches them: by the keys of the person's rows here."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.yaml_text import load_yaml
from snowmelt.extract_load.endpoints import Endpoint, read_endpoints
from snowmelt.extract_load.forgetting import OutOfReachError, forget_rows
from snowmelt.govern.erasure.model import LocationKind
from snowmelt.runtime.results import Result

KeysOf = Callable[[str, list[str]], list[list[str | None]]]
_SENT = "sent_records"


@dataclass(slots=True)
class Destination:
    """One table of a sink."""

    name: str
    endpoint: Endpoint
    target: str
    flow: str
    key: list[str]
    keys: list[list[str | None]]
    """Keys of the person's rows, as they were before anything was removed."""
    out_of_reach: str = ""

    def found(self, *, remove: bool = False) -> dict[str, Any]:
        rows = len(self.keys)
        try:
            rows = forget_rows(self.endpoint, self.target, self.flow, self.key, self.keys, remove=remove)
        except OutOfReachError as error:
            self.out_of_reach = str(error) if self.keys else ""
        how = self.out_of_reach or "by the keys of rows here"
        action = "" if self.out_of_reach else "deleted"
        return {
            "location": LocationKind.DESTINATION,
            "name": self.name,
            "rows": rows,
            "mentions": 0,
            "how": how,
            "action": action,
        }


class Destinations:
    def __init__(self, project: Path) -> None:
        folder = project / "config"
        try:
            self._config = load_yaml((folder / "pipeline_config.yaml").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise errors.configuration(
                f"{project} has no config/pipeline_config.yaml.", hint="Name the folder of a built project."
            ) from None
        own = folder / "connections.yaml"
        self._endpoints = read_endpoints(own if own.exists() else folder / "connections.yaml.example")

    def of(self, keys_of: KeysOf) -> list[Destination]:
        """What the project publishes, with the keys of the person's rows."""
        found: list[Destination] = []
        for sink in self._config.get("sinks") or []:
            endpoint = self._endpoints[sink["name"]]
            for table in sink["tables"]:
                flow = f"{self._config['pipeline']}_{table['name']}"
                fields = table.get("fields") or {}
                key = list(table.get("key") or [])
                found.append(Destination(
                    f"{sink['name']}.{table['target']}", endpoint, table["target"],
                    f"{sink['name']}_{flow}" if endpoint.kind == "api" else flow,
                    [fields.get(name, name) for name in key], keys_of(table["name"], key) if key else [],
                ))  # fmt: skip
        return found

    def notes(self, execute: Callable[[str], Result], destinations: list[Destination]) -> dict[str, str]:
        """What is kept here of what was sent to an API: conditions on the table that has it."""
        sent = [each for each in destinations if each.endpoint.kind == "api" and each.keys]
        if not sent:
            return {}
        try:
            execute(f"DESCRIBE TABLE {_SENT}")
        except SnowmeltError:
            return {}
        parts = [
            f"(flow = {_literal(each.flow)} AND record_key IN ({', '.join(_spellings(keys) for keys in each.keys)}))"
            for each in sent
        ]
        return {_SENT: " OR ".join(parts)}


def _spellings(keys: list[str | None]) -> str:
    """A key as it was written down: numbers with and without quotes."""
    plain = "[" + ", ".join("null" if key is None else key for key in keys) + "]"
    return f"{_literal(json.dumps(keys))}, {_literal(plain)}"


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"

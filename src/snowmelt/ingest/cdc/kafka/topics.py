"""Where a connector's topics are, and what Kafka Connect has to be told to fill them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snowmelt.core.properties import read_properties
from snowmelt.core.protected import Protected
from snowmelt.ingest.cdc.debezium import connector_properties
from snowmelt.ingest.cdc.sources import CapturedSource

_JSON = "org.apache.kafka.connect.json.JsonConverter"


@dataclass(frozen=True, slots=True)
class Topics:
    """One topic for each table of the source, called prefix.schema.table."""

    bootstrap_servers: str
    prefix: str
    tables: tuple[str, ...]
    properties_file: str | None = None
    """Settings of Kafka's clients, as Java's property files have them."""
    protected: Protected = field(default=Protected(), repr=False, compare=False)

    @property
    def pattern(self) -> str:
        """A regular expression for all of them: some may not be there before their table's first change."""
        names = "|".join(re.escape(f"{self.prefix}.{table}") for table in self.tables)
        return f"^(?:{names})$"

    @property
    def signals(self) -> str:
        """The topic in which Debezium looks for orders."""
        return f"{self.prefix}.signals"

    def client_options(self) -> dict[str, str]:
        """The options of Spark's Kafka source and sink."""
        options = {"bootstrap.servers": self.bootstrap_servers, **self._properties()}
        return {f"kafka.{name}": value for name, value in options.items()}

    def _properties(self) -> dict[str, str]:
        """Read anew each time, so that a secret can be changed while the connector runs."""
        if self.properties_file is None:
            return {}
        path = Path(self.properties_file).expanduser()
        self.protected.check(path)
        return read_properties(path)


def connect_configuration(name: str, source: CapturedSource, topics: Topics) -> str:
    """What Kafka Connect takes at POST /connectors. Of the password it says where Connect finds it."""
    config = connector_properties(source) | {
        "tasks.max": "1",
        "topic.prefix": topics.prefix,
        # Of one partition each: only so a TRUNCATE keeps its position among the changes of rows.
        "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "-1",
        "topic.creation.default.cleanup.policy": "delete",
        **_converter("key"),
        **_converter("value"),
        **_password(source),
    }
    if source.signal_table is None:
        config |= {
            "read.only": "true",
            "signal.enabled.channels": "kafka",
            "signal.kafka.topic": topics.signals,
            "signal.kafka.bootstrap.servers": topics.bootstrap_servers,
            "signal.kafka.groupId": f"{topics.prefix}-signals",
        }
    return json.dumps({"name": name, "config": config}, indent=2)


def _converter(part: str) -> dict[str, str]:
    converter = f"{part}.converter"
    return {
        converter: _JSON,
        # Mirrors learn their columns from the schemas.
        f"{converter}.schemas.enable": "true",
        f"{converter}.decimal.format": "NUMERIC",
        f"{converter}.replace.null.with.default": "false",
    }


def _password(source: CapturedSource) -> dict[str, Any]:
    """A reference that Connect's own configuration providers (`env`, `directory`) resolve."""
    if source.password_env is not None:
        return {"database.password": f"${{env:{source.password_env}}}"}
    if source.secret_file is not None:
        path = Path(source.secret_file)
        return {"database.password": f"${{directory:{path.parent}:{path.name}}}"}
    return {}

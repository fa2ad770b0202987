"""Which feed a connector reads from."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from snowmelt.features.connectors.declaring import source_of, topics_of
from snowmelt.features.connectors.definitions import ConnectorDefinition, Route
from snowmelt.ingest.cdc import kafka
from snowmelt.ingest.cdc.debezium import DebeziumProcess, Offset
from snowmelt.ingest.cdc.feed import Feed
from snowmelt.ingest.cdc.kafka.reader import KafkaFeed

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account


def open_feed(
    account: Account, name: str, definition: ConnectorDefinition, offset: Offset | None, folder: Path
) -> Feed:
    """From where the last one ended, which `offset` says. All that it keeps in the folder is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    if definition.route is Route.KAFKA:
        with account.engine.alive() as spark:
            return KafkaFeed(spark.with_package(kafka.__name__), topics_of(account, definition), offset, folder)
    return DebeziumProcess(source_of(account, definition), name, offset, folder)

"""Connectors: what the user declared, and how far each has brought its source's changes."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field

from snowmelt.core.kinds import ObjectType
from snowmelt.core.names import ObjectName, SchemaName
from snowmelt.ingest.cdc.redelivery import TableProgress
from snowmelt.ingest.cdc.sources import SourceType
from snowmelt.state.model import CatalogObject
from snowmelt.state.record import Definition, Record

CONNECTOR = ObjectType("CONNECTOR")
OffsetValue = str | int | bool | None


class ConnectorTarget(StrEnum):
    RAW = "RAW"
    """Every change is a row of one table, and stays there."""
    MIRROR = "MIRROR"
    """For each table of the source a table with its rows as they are now."""


class Route(StrEnum):
    """How the source's changes come here."""

    EMBEDDED = "EMBEDDED"
    """Debezium runs beside Snowmelt."""
    KAFKA = "KAFKA"
    """Debezium runs in Kafka Connect and writes topics, which Spark reads."""


class SnapshotReader(StrEnum):
    """Who reads the rows of a first snapshot."""

    AUTO = "AUTO"
    """Snowmelt where it can, Debezium elsewhere."""
    DEBEZIUM = "DEBEZIUM"


class Deletes(StrEnum):
    HARD = "HARD"
    SOFT = "SOFT"
    """The row stays, marked as deleted."""


class ConnectorDefinition(Definition):
    kind: Literal["CONNECTOR"] = "CONNECTOR"
    type: SourceType = SourceType.POSTGRES
    host: str
    port: int = 5432
    database: str
    user: str
    password_env: str | None = None
    """The environment variable that holds the password. The password itself is kept nowhere."""
    secret_file: str | None = None
    """The file that holds it."""
    ssl_mode: str = "prefer"
    tables: tuple[str, ...]
    """`schema.table`, as the source spells them."""
    slot: str = ""
    publication: str = ""
    """Both of PostgreSQL alone."""
    server_id: int | None = None
    """As which Debezium reads the log of a MariaDB or MySQL, where every reader is a server of its own."""
    snapshot_mode: str = "INITIAL"
    snapshot_reader: SnapshotReader = SnapshotReader.AUTO
    target: ConnectorTarget = ConnectorTarget.RAW
    raw_table: ObjectName | None = None
    mirror_schema: SchemaName | None = None
    dead_letters: ObjectName
    deletes: Deletes = Deletes.HARD
    capture_reads: bool = True
    """Whether the rows of a snapshot land in the raw table, as READ."""
    slot_warning_bytes: int = 1024 * 1024 * 1024
    """How much of its log the source may keep for the slot before the status warns."""
    signal_table: str | None = None
    """A table of the source through which Debezium takes orders; without one, from a file or a topic."""
    route: Route = Route.EMBEDDED
    bootstrap_servers: str | None = None
    """Where Kafka is."""
    topic_prefix: str = "snowmelt"
    """Topics are called prefix.schema.table."""
    kafka_properties_file: str | None = None
    """A file with settings of Kafka's clients, secrets among them, which are kept nowhere else."""
    pii: tuple[tuple[str, str], ...] = ()
    """Columns, as `schema.table.column` or of any table, and what is kept of their values: `MASK`, `HASH`, …"""


class ConnectorPhase(StrEnum):
    STARTING = "STARTING"
    SNAPSHOT = "SNAPSHOT"
    STREAMING = "STREAMING"
    RETRYING = "RETRYING"
    """The last attempt failed for a reason that may pass; another follows."""
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    """Somebody has to do something; the error says what."""
    COMPLETED = "COMPLETED"
    """The snapshot that was asked for, and nothing else, is done."""


class MirroredTable(Record):
    """A table of the source and the one that follows it."""

    table_id: str
    key: tuple[str, ...]
    """Columns of the mirror."""


class FirstSnapshot(Record):
    """A first snapshot that is not read by Debezium, while it is under way."""

    slot_lsn: int | None = None
    """Where the slot begins; None when it is not known to be there."""
    slot_sees: str | None = None
    """Which transactions came before it."""
    done: tuple[str, ...] = ()
    """The source's tables whose rows have landed."""


class ConnectorState(Record):
    """How far a connector is. It changes in the same step as the tables it writes."""

    connector_id: str
    phase: ConnectorPhase = ConnectorPhase.STARTING
    paused: bool = False
    error: str | None = None
    warning: str | None = None
    offset: dict[str, OffsetValue] | None = None
    """Where to go on: Debezium's own offset of the last change that landed, or the next one of each topic."""
    recent: tuple[str, ...] = ()
    """Identities of the changes that landed last: those that may come again."""
    progress: dict[str, TableProgress] = Field(default_factory=dict)
    """By the name of the source's table."""
    landed: tuple[str, ...] = ()
    """The source's tables of which rows have landed."""
    mirrors: dict[str, MirroredTable] = Field(default_factory=dict)
    """By the name of the source's table."""
    snapshot_request: int = 0
    """How often somebody asked for an incremental snapshot."""
    requested_tables: tuple[str, ...] = ()
    snapshot_done: int = 0
    """Up to which of these orders Debezium is known to have taken them: its offset remembers the rest."""
    first_snapshot: FirstSnapshot | None = None
    snapshot_by: str | None = None
    """Who reads or has read the first snapshot, and why it is not Snowmelt, for people."""
    raw_rows: int = 0
    """Rows that were written to the raw table: the number of the last."""
    changes: int = 0
    dead_letters: int = 0
    last_change_at: datetime | None = None
    """By the source's clock."""
    last_landed_at: datetime | None = None
    slot_bytes: int | None = None
    """What the source keeps of its log for the slot."""

    @property
    def position(self) -> int | None:
        """How far in the source's log it is: where Debezium stands, or the last change that a topic had."""
        known = (self.offset or {}).get("lsn")
        if isinstance(known, int):
            return known
        return max((each.lsn or each.snapshot_lsn or 0 for each in self.progress.values()), default=None)


def definition_of(item: CatalogObject) -> ConnectorDefinition:
    assert isinstance(item.definition, ConnectorDefinition)
    return item.definition

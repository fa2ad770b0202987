"""How each source comes in; for change data capture the snapshot, the publication, the slot and the hand-over."""

from __future__ import annotations

from collections.abc import Iterator

from snowmelt.core.names import literal
from snowmelt.design.deciding import DesignDecisions
from snowmelt.design.making.clean_tables import name_in_log
from snowmelt.design.making.stages import captured_by_log, landed, plain_name, read_as_whole
from snowmelt.design.model import Capture, DesignSource, SourceTable
from snowmelt.design.requirements.model import PiiStrategy, Requirements, Source, SourceKind
from snowmelt.design.rules.known import FILES

_HAND_OVER = (
    "The slot is created before the snapshot begins, so that every change from then on is kept by the source.",
    "The snapshot reads the tables at the point in the log at which the slot begins, in one transaction.",
    "Each row of the snapshot lands as READ; when the last one has landed, its place in the log is committed with it.",
    "The stream begins at that place. A change that the snapshot already showed comes again, with a later "
    "CHANGE_NUMBER, and gives the same row: nothing is lost and nothing counts twice.",
    "A snapshot that is interrupted begins anew with a TRUNCATE for each table, so that whoever applies the changes in "
    "order comes to the right rows.",
)
_CHANNEL_HAND_OVER = (
    "One channel for each partition of a topic; the offset token is the partition's offset.",
    "Rows and the offset token of the last one commit together: what is visible is exactly what the token says.",
    "A client that starts anew opens its channel, which fences the old one, and asks for the last committed token.",
    "It reads the topic from the offset behind that token: nothing is lost and nothing counts twice.",
    "Rows that do not fit go to the channel's error table (ON_ERROR = CONTINUE), which is counted and alerted on.",
)

_RECEIVER_HAND_OVER = (
    "A request is taken only with the signature of its sender's secret.",
    "Its events go through a channel into the raw table, with an offset token that counts them; only then is the "
    "sender answered with 2xx.",
    "An event whose id is known is answered, and not landed again: a sender that got no answer may repeat it.",
    "What can't be landed is answered with 503, and the sender tries again. What it gives up on is lost: nobody can "
    "ask for it.",
)


def sources(given: Requirements, verdict: DesignDecisions) -> list[DesignSource]:
    stages = {(item.source.name, item.table.name): (item.raw, item.clean) for item in landed(given, verdict)}
    found = []
    for source in given.sources:
        tables = tuple(
            SourceTable(
                name=table.name, stage=stages.get((source.name, table.name), (table.name, None))[0], key=table.key,
                clean=stages.get((source.name, table.name), (None, None))[1], tenants=table.tenants,
                change_column=table.change_column, columns=table.columns, options=table.options,
            )
            for table in source.tables
        )  # fmt: skip
        capture = _capture(source, given, verdict)
        setup = _connector(source, capture, given) if capture.way == "log" else None
        found.append(
            DesignSource(
                name=source.name, kind=source.kind, connection=_connection(source),
                capture=capture, tables=tables, setup_sql=setup, options=source.options,
            )
        )  # fmt: skip
    return found


def _connection(source: Source) -> str:
    """Tables that are here already are in the data directory that a run opens."""
    here = "data" if source.kind is SourceKind.SNOWMELT else address_variable(source.name)
    return source.connection or here


def address_variable(name: str) -> str:
    """The environment variable that holds where a source or sink is."""
    return f"{name.upper()}_URL"


def _capture(source: Source, given: Requirements, verdict: DesignDecisions) -> Capture:
    if captured_by_log(source, verdict):
        return Capture(
            way="log", snapshot_mode="WHEN_NEEDED", publication=f"snowmelt_{source.name.lower()}",
            slot=f"snowmelt_{source.name.lower()}",
            replica_identity={table.name: table.replica_identity or "unknown" for table in source.tables},
            hand_over=_HAND_OVER,
        )  # fmt: skip
    if source.kind is SourceKind.KAFKA:
        return Capture(
            way="offsets", hand_over=_CHANNEL_HAND_OVER,
            channels={table.name: f"{source.name.lower()}_{plain_name(table.name)}" for table in source.tables},
        )  # fmt: skip
    if source.kind is SourceKind.WEBHOOK:
        return Capture(way="events", hand_over=_RECEIVER_HAND_OVER)
    if source.kind in FILES:
        return Capture(way="files")
    return Capture(way="snapshot" if read_as_whole(source, verdict) else "watermark")


def _connector(source: Source, capture: Capture, given: Requirements) -> str:
    assert capture.slot is not None and capture.publication is not None
    tables = ", ".join(literal(table.name) for table in source.tables)
    prefix = source.name.upper()
    return (
        f"CREATE CONNECTOR IF NOT EXISTS {source.name.lower()}\n"
        f"  TYPE = POSTGRES\n  HOST = '${{{prefix}_HOST}}'\n  DATABASE = '${{{prefix}_DATABASE}}'\n"
        f"  USER = '${{{prefix}_USER}}'\n  PASSWORD_ENV = '{prefix}_PASSWORD'\n"
        f"  TABLES = ({tables})\n  SLOT = {literal(capture.slot)}\n  PUBLICATION = {literal(capture.publication)}\n"
        f"  SNAPSHOT_MODE = WHEN_NEEDED\n  TARGET = RAW\n  RAW_TABLE = raw_{source.name.lower()}_changes"
        f"{_hidden(source, given)}"
    )


_AT_INGEST = {PiiStrategy.HASH: "KEYED_HASH", PiiStrategy.MASK: "MASK", PiiStrategy.TOKENISE: "TOKENISE"}


def _hidden(source: Source, given: Requirements) -> str:
    """Personal data is hidden as soon as a change is understood, before it is kept anywhere."""
    columns = list(_hidden_columns(source, given))
    return f"\n  PII = ({', '.join(columns)})" if columns else ""


def _hidden_columns(source: Source, given: Requirements) -> Iterator[str]:
    how = _AT_INGEST.get(given.pii.strategy) if given.pii is not None and given.pii.strategy is not None else None
    for table in source.tables:
        for column in table.columns:
            if column.pii and how is not None:
                yield f"{literal(f'{name_in_log(table.name)}.{column.name}')} = {literal(how)}"

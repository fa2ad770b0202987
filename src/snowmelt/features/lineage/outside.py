"""Edges from sources outside of the account: channels and connectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from snowmelt.features.connectors.definitions import ConnectorDefinition, ConnectorState
from snowmelt.features.lineage.catalog import dataset_of
from snowmelt.govern.lineage.edges import same_columns
from snowmelt.govern.lineage.graph import Dataset, Edge, LineageDomain, LineageLink, Process
from snowmelt.ingest.cdc.mirror_columns import METADATA
from snowmelt.state.channel_model import ChannelState
from snowmelt.state.model import CatalogObject, TableDefinition

_DOCUMENTS = (LineageLink(None, None),)
"""Into a raw table all columns of a row go together."""


def from_channel(table: CatalogObject, channel: ChannelState) -> Edge:
    """Rows name the columns of the table that they are for."""
    target = dataset_of(table)
    source = Dataset(f"channel:{channel.id}", LineageDomain.CHANNEL, (*target.name[:2], channel.name), target.id)
    return Edge(source, target, Process("CHANNEL", channel.name), _same_columns(table))


def from_connector(
    connector: CatalogObject,
    standing: ConnectorState | None,
    tables: Mapping[str, CatalogObject],
    names: Sequence[str] | None = None,
) -> Iterator[Edge]:
    """From tables of the source, all unless named, to their mirrors or to the raw table.

    `tables` are those of the account, by id.
    """
    definition = connector.definition
    assert isinstance(definition, ConnectorDefinition)
    raw = next((item for item in tables.values() if item.name == definition.raw_table), None)
    for name in definition.tables if names is None else names:
        mirror = standing.mirrors.get(name) if standing is not None else None
        target = tables.get(mirror.table_id) if mirror is not None else None
        links = _same_columns(target, METADATA) if target is not None else _DOCUMENTS
        target = target or raw
        if target is not None:
            url = f"{definition.type.lower()}://{definition.host}:{definition.port}/{definition.database}.{name}"
            source = Dataset(url, LineageDomain.EXTERNAL, (url,), connector.id)
            yield Edge(source, dataset_of(target), Process("CONNECTOR", str(connector.name)), links)


def _same_columns(table: CatalogObject, without: frozenset[str] = frozenset()) -> tuple[LineageLink, ...]:
    assert isinstance(table.definition, TableDefinition)
    return same_columns(column.name for column in table.definition.columns if column.name not in without)

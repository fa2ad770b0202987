"""What happens in connectors, for whoever wants to know."""

from __future__ import annotations

from collections.abc import Set

from snowmelt.features.connectors.definitions import ConnectorState
from snowmelt.runtime.table_events import Around
from snowmelt.state.model import CatalogObject


class ConnectorEvents:
    def __init__(self) -> None:
        self.landing: Around[[str, CatalogObject, ConnectorState, Set[str]]] = Around()
        """Changes to some of the source's tables, perhaps none, land: the name of the transaction, the connector."""

"""Personal data of a connector's source: hidden as soon as a change is understood, before it is kept anywhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from snowmelt.core import errors, types
from snowmelt.features.connectors.definitions import ConnectorDefinition
from snowmelt.govern.pii.strategies import Strategy, hidden
from snowmelt.ingest.cdc.shapes import CapturedColumn, CapturedShape

_NOT_ONE_TO_ONE = frozenset({Strategy.MASK, Strategy.DROP})


class SourceProtection:
    """What becomes of the columns that the connector's PII names."""

    def __init__(self, definition: ConnectorDefinition, key: str) -> None:
        self._strategies: Mapping[str, Strategy] = {name: Strategy(word) for name, word in definition.pii}
        self._key = key

    def __bool__(self) -> bool:
        return bool(self._strategies)

    def of(self, shape: CapturedShape) -> CapturedShape:
        """The shape as it is here. Raises where rows could not be told apart any more."""
        return replace(shape, columns=tuple(self._column(shape, column) for column in shape.columns))

    def _column(self, shape: CapturedShape, column: CapturedColumn) -> CapturedColumn:
        strategies = self._strategies
        strategy = strategies.get(f"{shape.table}.{column.name}") or strategies.get(column.name) or Strategy.KEEP
        if strategy is Strategy.KEEP:
            return column
        if column.name in shape.key and strategy in _NOT_ONE_TO_ONE:
            raise errors.connector_stopped(
                f"{shape.table}.{column.name} is a key: with {strategy} rows could not be told apart.",
                hint="Use HASH or TOKENISE.",
            )
        clean = self._cleaner(column, strategy)
        default = None if column.default is None else clean(column.default)
        return replace(column, type=types.VARCHAR, optional=True, clean=clean, default=default)

    def _cleaner(self, column: CapturedColumn, strategy: Strategy) -> Callable[[Any], Any]:
        def clean(value: Any) -> str | None:
            plain = column.clean(value) if column.clean is not None else value
            text = plain if isinstance(plain, str) else json.dumps(plain, default=str)
            return hidden(text, strategy, self._key)

        return clean

"""SYSTEM$ functions over streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.features.streams.service import Streams
from snowmelt.runtime.system_functions import Arguments, nanoseconds, text
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def has_data(run: Run, state: StateReader, arguments: Arguments) -> bool:
    return run.account.services[Streams].has_data(run, state, text(arguments[0], "stream_name"))


def table_timestamp(run: Run, state: StateReader, arguments: Arguments) -> int:
    return nanoseconds(run.account.services[Streams].table_timestamp(run, state, text(arguments[0], "stream_name")))

"""A run of its own process that ends by SIGKILL at the nth step: before or behind anything that leaves a trace."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from functools import wraps
from pathlib import Path
from typing import Any

import snowmelt
from snowmelt.extract_load import (
    DeadLetterLoader,
    DeltaLoader,
    FilesExtractor,
    FilesLoader,
    Flow,
    Loader,
    LoadStrategy,
    PostgresLoader,
    RawLoader,
    run_flow,
)
from snowmelt.extract_load.stores.local import LocalStore
from snowmelt.ingest.channels.channel import Channel

STEPS: dict[type, tuple[str, ...]] = {
    Channel: ("append_rows", "initiate_flush", "wait_for_commit"), LocalStore: ("put", "remove"),
    DeltaLoader: ("_commit",), PostgresLoader: ("_take_turn", "_write", "load"),
}  # fmt: skip


class Killer:
    def __init__(self, at: int) -> None:
        self.at, self.steps = at, 0

    def step(self) -> None:
        self.steps += 1
        if self.steps == self.at:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def stepping(*arguments: Any, **options: Any) -> Any:
            self.step()
            result = method(*arguments, **options)
            self.step()
            return result

        return stepping


def make_loader(kind: str, target: str, connection: snowmelt.Connection) -> Loader:
    match kind:
        case "snowmelt":
            return RawLoader(connection, "raw", "flow", "run")
        case "postgres":
            return PostgresLoader(target, "orders", "flow", "run", strategy=LoadStrategy.APPEND)
        case "delta":
            return DeltaLoader(target, "orders", "flow", "run")
    return FilesLoader(target, "orders", "flow", "run", file_format=kind)


def main(kind: str, target: str, folder: str, at: str) -> None:
    killer = Killer(int(at))
    for owner, names in STEPS.items():
        for name in names:
            setattr(owner, name, killer.around(getattr(owner, name)))
    connection = snowmelt.connect(Path(folder) / "data")
    extractor = FilesExtractor(Path(folder) / "in", "*.csv", batch_rows=2)
    with (
        closing(connection),
        closing(make_loader(kind, target, connection)) as loader,
        closing(DeadLetterLoader(connection, "letters", "flow", "run")) as letters,
    ):
        run_flow(Flow("flow", extractor, loader, None, letters))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""What a server does first: own its directory, and start Spark, which takes longer than all the rest.

This module must not import anything that takes long to import. The rest of the server is imported while Java starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Thread

from snowmelt.core import private_files
from snowmelt.core.config import Settings
from snowmelt.engine.application import APPLICATION, SPARK_FOLDER
from snowmelt.runtime.ownership import Ownership


@dataclass(frozen=True, slots=True)
class Begun:
    ownership: Ownership
    settings: Settings

    def account_opened(self) -> None:
        """From now on the account sees to it that Spark is there for as long as it is needed."""
        APPLICATION.leave()


def begin(data_dir: Path, settings: Settings) -> Begun:
    """Raises when another process owns the directory."""
    path = data_dir.expanduser().resolve()
    private_files.prepare(path)
    ownership = Ownership(path)
    Thread(target=_import_arrow, name="snowmelt-arrow", daemon=True).start()
    APPLICATION.join(settings.spark, path / SPARK_FOLDER, settings.silence_seconds)
    return Begun(ownership, settings)


def _import_arrow() -> None:
    """Makes a first Arrow array, which imports pandas if that is installed: no statement should wait for it."""
    import_module("pyarrow").array([])

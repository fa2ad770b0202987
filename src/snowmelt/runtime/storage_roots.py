"""Where an account's tables lie, checked before anything relies on it."""

from __future__ import annotations

from pathlib import Path

from snowmelt.core.config import Settings
from snowmelt.core.errors import configuration
from snowmelt.storage.layout import CACHE_FOLDER, StorageRoot
from snowmelt.storage.reaching import check_store


def open_root(settings: Settings, data_dir: Path) -> StorageRoot:
    """Raises a configuration error for an object store that is not there, or that tables can't be kept in."""
    uri = settings.storage_root or str(data_dir / "tables")
    cache = data_dir / CACHE_FOLDER
    root = StorageRoot(uri, settings.storage_options, cache=cache, cache_bytes=settings.store_cache_bytes)
    try:
        if root.address is not None:
            master = settings.spark.get("spark.master", "local")
            if not master.startswith("local"):
                raise configuration(
                    f"Tables in an object store ({root.uri}) on a cluster ({master}) are not supported yet.",
                    hint="Leave spark.master out, or set storage_root to a shared file system.",
                )
            check_store(root.address)
    except BaseException:
        root.close()
        raise
    return root


def spark_settings(settings: Settings, root: StorageRoot) -> dict[str, str]:
    """What Spark is started with. What the user says wins."""
    return {**(root.address.for_spark() if root.address is not None else {}), **settings.spark}

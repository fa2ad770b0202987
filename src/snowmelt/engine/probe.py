"""Do the executors see the same storage as we do?

On a cluster the tables must lie where every executor can read and write them. A folder that exists on the driver's disk
alone would fail in the middle of the first large query, or worse, scatter files over the workers' disks. So before the
first statement one tiny file makes the round trip: written by an executor, found from here, read by an executor.
"""

from __future__ import annotations

import contextlib
import uuid
from typing import TYPE_CHECKING

import pyarrow.fs as pafs

from snowmelt.core import errors
from snowmelt.core.lazy import lazy_imports

with lazy_imports():
    from pyspark import errors as pyspark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check_storage(session: SparkSession, uri: str) -> None:
    """Raises a configuration error when executors and driver do not share the storage. Local masters always do."""
    master = session.conf.get("spark.master", "local") or "local"
    if master.startswith("local"):
        return
    folder = f"{uri.rstrip('/')}/_probe_{uuid.uuid4().hex}"
    try:
        session.range(1).write.parquet(folder)
        seen = _files_seen_from_here(folder)
        rows = session.read.schema("id BIGINT").parquet(folder).count() if seen else 0
    except pyspark_errors.PySparkException:
        rows = 0
    finally:
        _remove(folder)
    if rows != 1:
        raise errors.configuration(
            f"Spark's executors at {master} do not share the storage root {uri} with this process.",
            hint="Set storage_root in snowmelt.toml to a shared file system.",
        )


def _files_seen_from_here(folder: str) -> bool:
    if "://" in folder and not folder.startswith("file:"):
        # An object store is one place for all; only credentials can differ, and the read above checks those.
        return True
    listing = pafs.LocalFileSystem().get_file_info(pafs.FileSelector(_path(folder), allow_not_found=True))
    return any(item.path.endswith(".parquet") for item in listing)


def _remove(folder: str) -> None:
    if "://" in folder and not folder.startswith("file:"):
        return
    with contextlib.suppress(OSError):
        pafs.LocalFileSystem().delete_dir(_path(folder))


def _path(folder: str) -> str:
    return folder.removeprefix("file://").removeprefix("file:")

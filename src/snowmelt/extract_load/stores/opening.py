"""The store of an address."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from snowmelt.core import errors
from snowmelt.extract_load.problems import shown
from snowmelt.extract_load.stores.base import FileStore
from snowmelt.extract_load.stores.http import HttpStore
from snowmelt.extract_load.stores.local import LocalStore
from snowmelt.extract_load.stores.objects import ObjectStore
from snowmelt.extract_load.stores.sftp import SftpStore


def open_store(address: str | Path, settings: Mapping[str, str] | None = None) -> FileStore:
    """A path, or an address that begins with file, s3, gs, sftp, http or https."""
    given = dict(settings or {})
    if isinstance(address, Path):
        return LocalStore(address)
    parts = urlsplit(address)
    match parts.scheme:
        case "":
            return LocalStore(Path(address))
        case "file":
            return LocalStore(Path(unquote(parts.path)))
        case "s3" | "gs":
            return ObjectStore(address, given)
        case "sftp":
            return SftpStore(address, given)
        case "http" | "https":
            return HttpStore(address, given)
    raise errors.configuration(
        f"{shown(address)} is not an address of files.",
        hint="Use a path, or file://, s3://, gs://, sftp:// or https://.",
    )

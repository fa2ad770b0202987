"""What of the machine and of the object store is the account's own, which no statement reaches, whatever its role."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sqlalchemy.engine import make_url

from snowmelt.core.config import is_own_variable
from snowmelt.core.protected import Protected, refused
from snowmelt.engine.jars import default_cache
from snowmelt.runtime.protocols import DataDirectory
from snowmelt.sql.statements.options import Outside
from snowmelt.sql.statements.outside import OutsideAddress

_ALIASES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "az", "abfs": "az", "azure": "az", "adl": "az"}


def of(account: DataDirectory) -> Protected:
    """Files of the account itself, and folders from which this program loads its code."""
    # Its files as well as itself: one of them may have another name elsewhere.
    hidden = [account.data_dir, *account.data_dir.iterdir(), *_state_files(account)]
    root = account.settings.storage_root
    if root is not None and "://" not in root:
        hidden.append(Path(root))
    elif root is not None and root.lower().startswith("file://"):
        hidden.append(Path(unquote(root[len("file://") :])))
    if account.settings.file is not None:
        hidden.append(account.settings.file)
    code = [Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[1], default_cache()]
    return Protected(tuple(hidden), tuple(code))


def check_address(account: DataDirectory, address: OutsideAddress) -> None:
    """Raises for a file or variable with secrets of the account's own: a connector would send them to its source."""
    if address.kind is Outside.FILE:
        of(account).check(Path(str(address.value)).expanduser())
    if address.kind is Outside.VARIABLE and is_own_variable(account.settings, str(address.value)):
        raise refused(str(address.value))


def _state_files(account: DataDirectory) -> list[Path]:
    url = account.settings.state_url
    if url is None or not url.startswith("sqlite"):
        return []
    path = make_url(url).database
    return [Path(f"{path}{end}") for end in ("", "-wal", "-shm", "-journal")] if path else []


def check_outside(url: str, own: str | None) -> None:
    """Raises when a URL of an object store leads to where the account keeps its tables and stages."""
    if is_own(url, own):
        raise refused(url)


def is_own(url: str, own: str | None) -> bool:
    if own is None or "://" not in own or "://" not in url:
        return False
    mine, asked = _address_parts(own), _address_parts(url)
    return asked[: len(mine)] == mine


def _address_parts(url: str) -> tuple[str, ...]:
    """Store, bucket and the parts of the key, however the scheme and the slashes are written."""
    split = urlsplit(url)
    scheme = split.scheme.lower()
    parts = [part for part in unquote(split.path).split("/") if part]
    return (_ALIASES.get(scheme, scheme), split.netloc.lower(), *parts)

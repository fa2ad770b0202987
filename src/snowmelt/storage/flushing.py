"""One file or folder onto the disk. What has to be there together is in `storage.durable`."""

from __future__ import annotations

import os
from pathlib import Path


def flush(path: Path) -> None:
    """Returns when the file or folder is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

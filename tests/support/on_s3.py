"""Every account that a test opens has its tables in S3, in a prefix of its own: `pytest --store s3`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from snowmelt.core.config import Settings
from snowmelt.runtime import account, storage_roots
from snowmelt.storage.layout import StorageRoot
from tests.support.s3_server import BUCKET, ENVIRONMENT, S3Server

_MARK = "SNOWMELT_TESTS_IN_S3"
"""In the environment, so that the processes that tests start do the same."""


def start() -> S3Server:
    """For the rest of this process, and those that it starts."""
    server = S3Server()
    server.__enter__()
    os.environ.update(_environment(server))
    apply()
    return server


@contextmanager
def server_for_processes() -> Iterator[S3Server]:
    """For processes that are started inside; this one goes on as before."""
    with S3Server() as server:
        set_here = _environment(server)
        before = {name: os.environ.get(name) for name in set_here}
        os.environ.update(set_here)
        try:
            yield server
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                os.environ.update({} if value is None else {name: value})


def _environment(server: S3Server) -> dict[str, str]:
    return {**ENVIRONMENT, "AWS_ENDPOINT_URL": server.endpoint, "AWS_ALLOW_HTTP": "true", _MARK: "1"}


def apply() -> None:
    if _MARK not in os.environ:
        return
    opened = storage_roots.open_root

    def in_s3(settings: Settings, data_dir: Path) -> StorageRoot:
        if settings.storage_root is None:
            prefix = hashlib.sha256(str(data_dir).encode()).hexdigest()[:16]
            settings = settings.model_copy(update={"storage_root": f"s3://{BUCKET}/{prefix}"})
        return opened(settings, data_dir)

    account.open_root = in_s3

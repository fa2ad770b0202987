"""A real S3 server, S3Proxy over files, on a free port of this machine and in a temporary folder."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from snowmelt.demo.object_store import BUCKET, LocalS3, options

__all__ = ["BUCKET", "ENVIRONMENT", "KEY", "SECRET", "S3Server", "options"]
KEY, SECRET = "snowmelt-test-key", "snowmelt-test-secret-8d1f"
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
"""What a client needs to know the server by."""


class S3Server(LocalS3):
    def __init__(self) -> None:
        super().__init__(Path(tempfile.mkdtemp(prefix="snowmelt-s3-")))
        self.key, self.secret = KEY, SECRET

    def close(self) -> None:
        super().close()
        shutil.rmtree(self.folder, ignore_errors=True)

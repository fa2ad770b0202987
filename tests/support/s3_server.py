"""A real S3 server, S3Proxy over files, on a free port of this machine and in a temporary folder."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from snowmelt.engine.jars import ensure_jars, parse_lock, require_java
from tests.support.ports import free_port
from tests.support.waiting import wait_until

_LOCK = Path(__file__).with_name("s3_server.lock")
KEY, SECRET = "snowmelt-test-key", "snowmelt-test-secret-8d1f"
BUCKET = "lake"
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
"""What a client needs to know the server by."""


class S3Server:
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="snowmelt-s3-"))
        self.port = free_port()
        self._log = self.folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> None:
        (self.folder / "buckets" / BUCKET).mkdir(parents=True)
        settings = {
            "s3proxy.endpoint": self.endpoint, "s3proxy.authorization": "aws-v2-or-v4", "s3proxy.identity": KEY,
            "s3proxy.credential": SECRET, "jclouds.provider": "filesystem-nio2",
            "jclouds.filesystem.basedir": str(self.folder / "buckets"), "s3proxy.ignore-unknown-headers": "true",
        }  # fmt: skip
        properties = self.folder / "s3proxy.conf"
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        (jar,) = ensure_jars(jars=parse_lock(_LOCK.read_text()))
        java = [str(require_java()), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-Xshare:auto"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*java, "-cp", str(jar), "org.gaul.s3proxy.Main", "--properties", str(properties)],
                stdout=log, stderr=log,
            )  # fmt: skip

        def is_up() -> bool:
            assert self._process is not None and self._process.poll() is None, self._log.read_text()[-3000:]
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0

        wait_until(is_up, "the S3 server listens")

    def make_bucket(self, name: str) -> None:
        (self.folder / "buckets" / name).mkdir()

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def options(endpoint: str) -> Mapping[str, str]:
    """What `storage_options` say of it."""
    return {"aws_endpoint": endpoint, "aws_allow_http": "true", "aws_region": "us-east-1"}

"""An S3 server on this machine, for those who have none at hand: S3Proxy over a folder, in a process of its own."""

from __future__ import annotations

import secrets
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from snowmelt.core.errors import configuration
from snowmelt.engine.jars import ensure_jars, locked_jars, require_java

BUCKET = "lake"
_START_SECONDS = 120.0


class LocalS3:
    """`folder` keeps the bucket; it may be there from before. Keys are made anew each time."""

    def __init__(self, folder: Path, report: Callable[[str], None] = lambda _: None) -> None:
        self.folder = folder
        self.port = _free_port()
        self.key, self.secret = secrets.token_hex(8), secrets.token_hex(16)
        self._report = report
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """What a client finds its keys by."""
        return {"AWS_ACCESS_KEY_ID": self.key, "AWS_SECRET_ACCESS_KEY": self.secret, "AWS_REGION": "us-east-1"}

    @property
    def options(self) -> dict[str, str]:
        """What `storage_options` say of it."""
        return options(self.endpoint)

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

    def make_bucket(self, name: str) -> None:
        (self.folder / "buckets" / name).mkdir(parents=True, exist_ok=True)

    def _start(self) -> None:
        self.make_bucket(BUCKET)
        settings = {
            "s3proxy.endpoint": self.endpoint, "s3proxy.authorization": "aws-v2-or-v4", "s3proxy.identity": self.key,
            "s3proxy.credential": self.secret, "jclouds.provider": "filesystem-nio2",
            "jclouds.filesystem.basedir": str(self.folder / "buckets"), "s3proxy.ignore-unknown-headers": "true",
        }  # fmt: skip
        described = self.folder / "s3proxy.conf"
        described.touch(mode=0o600)
        described.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="utf-8")
        (jar,) = ensure_jars(jars=locked_jars("snowmelt.demo"), report=self._report)
        java = [str(require_java()), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-Xshare:auto"]
        main = ["-cp", str(jar), "org.gaul.s3proxy.Main", "--properties", str(described)]
        log = self.folder / "server.log"
        with log.open("wb") as target:
            self._process = subprocess.Popen([*java, *main], stdout=target, stderr=target, start_new_session=True)
        until = time.monotonic() + _START_SECONDS
        while not _listens(self.port):
            if self._process.poll() is not None or time.monotonic() > until:
                raise configuration(f"The S3 server does not start; its log is {log}.")
            time.sleep(0.05)

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def options(endpoint: str) -> dict[str, str]:
    """What `storage_options` say of a server that speaks plain HTTP."""
    return {"aws_endpoint": endpoint, "aws_allow_http": "true", "aws_region": "us-east-1"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0

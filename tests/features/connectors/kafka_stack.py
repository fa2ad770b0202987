"""A real Kafka broker and a real Kafka Connect with Debezium, from Maven's jars, on free ports of this machine."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from snowmelt.engine.jars import ensure_jars, locked_jars, parse_lock, require_java
from tests.support.ports import free_port
from tests.support.waiting import wait_until

_LOCK = Path(__file__).with_name("kafka_stack.lock")
_LOG = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"


class JavaService:
    """A Java program that is started, killed and started again over the same files."""

    def __init__(self, folder: Path, name: str, main: str, properties: dict[str, str]) -> None:
        self.folder = folder
        self._log = folder / f"{name}.log"
        self._main = main
        self._properties = folder / f"{name}.properties"
        self._properties.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, ready: Callable[[], bool]) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [str(require_java()), "-Xmx512m", _LOG, "-cp", _classpath(), self._main, str(self._properties)],
                stdout=log, stderr=log, cwd=self.folder,
            )  # fmt: skip

        def is_up() -> bool:
            assert self._process is not None and self._process.poll() is None, self.last_words()
            return ready()

        wait_until(is_up, self.last_words)

    def run(self, main: str, *arguments: str) -> None:
        """Another program with the same settings, to its end."""
        command = [str(require_java()), _LOG, "-cp", _classpath(), main, *arguments, "-c", str(self._properties)]
        subprocess.run(command, check=True, capture_output=True)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def last_words(self) -> str:
        return self._log.read_text(errors="replace")[-3000:]


def _classpath() -> str:
    """What Kafka and Debezium need: where both need a jar it is the same."""
    jars = dict.fromkeys((*parse_lock(_LOCK.read_text()), *locked_jars("snowmelt.ingest.cdc")))
    return os.pathsep.join(str(path) for path in ensure_jars(jars=list(jars)))


class KafkaStack:
    def __init__(self, *, connects: bool = True) -> None:
        self._connects = connects
        self.folder = Path(tempfile.mkdtemp(prefix="snowmelt-kafka-"))
        self.port, self._rest = free_port(), free_port()
        controller = free_port()
        single = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
        self.broker = JavaService(self.folder, "broker", "kafka.Kafka", {
            "process.roles": "broker,controller", "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER", "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": str(self.folder / "logs"), "offsets.topic.num.partitions": "1",
            "transaction.state.log.min.isr": "1", "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            **{f"{name}.replication.factor": "1" for name in single},
        })  # fmt: skip
        json_converter = "org.apache.kafka.connect.json.JsonConverter"
        self.connect = JavaService(self.folder, "connect", "org.apache.kafka.connect.cli.ConnectDistributed", {
            "bootstrap.servers": self.bootstrap_servers, "group.id": "connect",
            "key.converter": json_converter, "value.converter": json_converter,
            "plugin.discovery": "service_load", "listeners": f"http://127.0.0.1:{self._rest}",
            # The next worker need not wait for the one that was killed.
            "scheduled.rebalance.max.delay.ms": "0", "session.timeout.ms": "10000", "heartbeat.interval.ms": "3000",
            "offset.flush.interval.ms": "10000",
            **{f"{kind}.storage.topic": f"connect-{kind}" for kind in ("offset", "config", "status")},
            **{f"{kind}.storage.replication.factor": "1" for kind in ("offset", "config", "status")},
            "offset.storage.partitions": "1", "status.storage.partitions": "1",
        })  # fmt: skip

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        try:
            cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
            self.broker.run("kafka.tools.StorageTool", "format", "-t", cluster)
            self.start_broker()
            if self._connects:
                self.start_connect()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.connect.kill()
        self.broker.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start_broker(self) -> None:
        self.broker.start(lambda: _listens(self.port))

    def start_connect(self) -> None:
        self.connect.start(lambda: self._asked("GET", "/connectors") is not None)

    def register(self, configuration: str, **changes: str) -> None:
        """A connector as Snowmelt says it should be, but for what is changed here."""
        told = json.loads(configuration)
        told["config"] |= changes
        wait_until(lambda: self._asked("POST", "/connectors", told) is not None, "Kafka Connect takes the connector")

    def remove(self, name: str) -> None:
        wait_until(lambda: self._asked("DELETE", f"/connectors/{name}") is not None, "Kafka Connect lets it go")

    def status(self, name: str) -> Any:
        return self._asked("GET", f"/connectors/{name}/status")

    def _asked(self, method: str, path: str, body: Any = None) -> Any:
        """Its answer; None while it does not answer, as in the middle of a rebalance."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._rest}{path}", method=method, headers={"Content-Type": "application/json"},
            data=None if body is None else json.dumps(body).encode(),
        )  # fmt: skip
        try:
            with urllib.request.urlopen(request, timeout=90) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            with error:
                assert error.code in (404, 409, 500, 503), error.read()
            return None
        except OSError:
            return None
        return json.loads(text) if text else True


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except OSError:
        return False
    return True

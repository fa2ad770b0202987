"""The Java process behind PySpark: started here, watched, and put out of the way when it is of no more use.

PySpark starts one such process for a Python process and never another, because it keeps what leads there in class
attributes. This module is the only one that touches them.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession, SQLContext

from snowmelt.core.ending import Ending, at_end

_END_SECONDS = 2.0
"""How long the process may take to end by itself."""


def launch(settings: Mapping[str, str], log: Path) -> None:
    """Starts the process unless there is one. It writes its log to the file, for as long as it lives."""
    if SparkContext._gateway is not None:
        return
    conf = SparkConf()
    for key, value in settings.items():
        conf.set(key, value)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as target:
        # In a session of its own: a signal to our process group must not end it before what runs on it has ended.
        gateway = launch_gateway(conf, {"stderr": target, "start_new_session": True})  # type: ignore[no-untyped-call]
    SparkContext._ensure_initialized(gateway=gateway, conf=conf)
    logging.getLogger().addFilter(_is_news)
    at_end(Ending.END_JAVA, end)


@contextmanager
def killed_after(seconds: float) -> Iterator[None]:
    """Kills what this thread starts inside if it takes longer: whoever waits for it then gets an error."""
    own = threading.get_native_id()
    before = _started_by(own)

    def kill() -> None:
        for pid in _started_by(own) - before:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    timer = threading.Timer(seconds, kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _started_by(thread: int) -> set[int]:
    """The processes that the thread started and that still run. None where the system does not tell."""
    try:
        return set(map(int, Path(f"/proc/self/task/{thread}/children").read_text(encoding="ascii").split()))
    except OSError:
        return set()


def _is_news(record: logging.LogRecord) -> bool:
    """py4j writes a stack trace to the root logger for each call that finds the process gone; one line says that."""
    return record.msg not in ("Exception while sending command.", "KeyboardInterrupt while sending command.")


def process() -> subprocess.Popen[bytes] | None:
    """The process, if this one started it."""
    return getattr(SparkContext._gateway, "proc", None)


def exit_code() -> int | None:
    """How the process ended; None while it runs."""
    found = process()
    return found.poll() if found is not None else None


def is_stopped(session: SparkSession) -> bool:
    """Whether Spark has given up, while its process goes on. Raises when nobody answers."""
    return bool(session.sparkContext._jsc.sc().isStopped())


def scratch_folders(session: SparkSession) -> tuple[Path, ...]:
    """Where the application keeps files that it removes when it ends in order."""
    assert session._jvm is not None
    disk = session._jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager()
    kept = [Path(str(part)) for part in disk.localDirsString()]
    own = session.sparkContext._temp_dir
    return (*kept, *([Path(own).parent] if own else []))


def discard(scratch: tuple[Path, ...] = ()) -> None:
    """Ends the process if it still runs, and makes PySpark forget it, so that the next start is like a first one."""
    gateway, context = SparkContext._gateway, SparkContext._active_spark_context
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    SQLContext._instantiatedContext = None
    if gateway is not None:
        _kill(getattr(gateway, "proc", None))
        _quietly(gateway.shutdown)
    if context is not None:
        context._jsc = None
        server = context._accumulatorServer
        context._accumulatorServer = None  # type: ignore[assignment]
        if server is not None:
            _quietly(server.shutdown)
    for folder in scratch:
        shutil.rmtree(folder, ignore_errors=True)


def end(patience: float = _END_SECONDS) -> None:
    """Lets the process end in order, which it does when nobody speaks to it any more; kills it if it does not."""
    found = process()
    if found is None or found.poll() is not None:
        return
    if found.stdin is not None:
        with suppress(OSError):
            found.stdin.close()
    try:
        found.wait(patience)
    except subprocess.TimeoutExpired:
        _kill(found)


@contextmanager
def interruptible(session: SparkSession) -> Iterator[None]:
    """After Ctrl-C in the middle of a call its answer is still to come, and would be taken for that of the next."""
    try:
        yield
    except Exception:
        raise
    except BaseException:
        connection = session.sparkContext._jsc._gateway_client.get_thread_connection()
        if connection is not None:
            _quietly(connection.close)
        raise


def is_lost_contact(error: BaseException | None) -> bool:
    """Whether the error, or what led to it, is one of talking to the process rather than one that it reported."""
    while error is not None:
        if isinstance(error, Py4JError | ConnectionError | EOFError) and not isinstance(error, Py4JJavaError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _kill(found: subprocess.Popen[bytes] | None) -> None:
    if found is None:
        return
    found.kill()
    found.wait()
    if found.stdin is not None:
        with suppress(OSError):
            found.stdin.close()


def _quietly(step: Any) -> None:
    """Ignores errors of a connection to a process that is gone: they are many, and none matters."""
    with suppress(Exception):
        step()

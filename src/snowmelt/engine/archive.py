"""An archive of Spark's classes: Java maps it into memory instead of loading and checking twenty thousand classes.

It holds for one Java, one Spark and one set of jars, lies beside the jars, and is as much to be trusted as they are.
Java compares it with its class path and goes on without it where they differ. Whoever runs a server makes it once, in
the background (`ArchiveMaker`); all Sparks that start later use it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import structlog

from snowmelt.core.errors import SnowmeltError
from snowmelt.engine.jars import default_cache, require_java

_log = structlog.get_logger(__name__)
OPTIONS = "spark.driver.extraJavaOptions"
_USE, _MAKE = "-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit"
_LOOK_SECONDS = 1.0
_PAUSE_SECONDS = 30.0
"""After the start of a server, which has other things to do first."""
_MOST_SECONDS = 1800.0
_UNUSED_SECONDS = 30 * 86_400.0
_SILENT = "-Xlog:cds*=off -Xlog:class+path=off"
"""Java tells on standard output what it leaves out of an archive, and when it can't use one."""


def archive_path(java: Path) -> Path:
    """Where the archive for this Java and the installed Spark is, or would be."""
    real = java.resolve()
    stat = real.stat()
    locked = files("snowmelt.engine").joinpath("jars.lock").read_text(encoding="utf-8")
    # A new installation of the same Spark has other files, for which Java would leave an old archive aside for ever.
    spec = find_spec("pyspark")
    installed = [Path(folder) / "jars" for folder in (spec.submodule_search_locations or ())] if spec else []
    made = [str(folder.stat().st_mtime_ns) for folder in installed if folder.is_dir()]
    what = (str(real), str(stat.st_size), str(stat.st_mtime_ns), version("pyspark"), sys.prefix, *made, locked)
    key = hashlib.sha256("\n".join(what).encode()).hexdigest()[:16]
    return default_cache() / f"spark-{key}.jsa"


def with_archive(settings: Mapping[str, str], java: Path, jars: Sequence[Path]) -> dict[str, str]:
    """Settings of a local Spark that has the jars on its class path, the only place whose classes can be archived."""
    given = settings.get("spark.driver.extraClassPath")
    class_path = os.pathsep.join([*(str(path) for path in jars), *([given] if given else [])])
    chosen = {**settings, "spark.driver.extraClassPath": class_path}
    options = settings.get(OPTIONS, "")
    path = archive_path(java)
    if _USE in options or _MAKE in options or not path.is_file() or " " in str(path):
        return chosen
    # Those that nobody uses any more are removed.
    with suppress(OSError):
        os.utime(path)
    return {**chosen, OPTIONS: f"{_USE}={path} {_SILENT} {options}".strip()}


def make_archive(train: Callable[[Mapping[str, str]], None]) -> bool:
    """Makes the archive of what `train` makes a Spark of these settings load. False when another process is at it."""
    target = archive_path(require_java())
    target.parent.mkdir(parents=True, exist_ok=True)
    with _alone(target.with_suffix(".lock")) as alone:
        if not alone or target.is_file():
            return target.is_file()
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".archive-") as scratch:
            draft = Path(scratch) / "spark.jsa"
            train({OPTIONS: f"{_MAKE}={draft} {_SILENT}"})
            if not draft.is_file():
                return False
            draft.replace(target)
        _remove_unused(target)
    return True


@contextmanager
def _alone(path: Path) -> Iterator[bool]:
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def _remove_unused(kept: Path) -> None:
    for path in kept.parent.glob("spark-*.jsa"):
        with suppress(OSError):
            if path != kept and time.time() - path.stat().st_mtime > _UNUSED_SECONDS:
                path.unlink()


class ArchiveMaker:
    """Makes the archive in a process of its own, which gives way to everything else, once the server is at rest."""

    def __init__(self, ready: Callable[[], bool]) -> None:
        self._ready = ready
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="snowmelt-archive", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()

    def _run(self) -> None:
        try:
            while not self._ready():
                if self._stopped.wait(_LOOK_SECONDS):
                    return
            if archive_path(require_java()).is_file() or self._stopped.wait(_PAUSE_SECONDS):
                return
            self._make()
        except (OSError, SnowmeltError) as error:
            _log.warning("archive_not_made", error=str(error))

    def _make(self) -> None:
        command = ["nice", "-n", "19", sys.executable, "-m", "snowmelt.engine.training"]
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:  # fmt: skip
            until = time.monotonic() + _MOST_SECONDS
            while process.poll() is None:
                if self._stopped.wait(_LOOK_SECONDS) or time.monotonic() > until:
                    process.terminate()
                    break
        _log.info("archive_made" if process.returncode == 0 else "archive_not_made", code=process.returncode)

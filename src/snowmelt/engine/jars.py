"""The jars Spark needs beyond its own: fetched once, verified by sha256, then used offline.

`ensure_jars` returns the paths of every jar in `jars.lock`. Invariants:

- A path is returned only for a file whose sha256 was compared with the lock, now or when it was fetched.
- A file appears in the cache folder complete or not at all, however many processes fetch at once.
- When every jar is there, no process is started and no network is touched.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from snowmelt.core.errors import SnowmeltError, configuration

MINIMUM_JAVA = 17
_LOCKS = (
    "snowmelt.engine", "snowmelt.engine.object_stores", "snowmelt.ingest.cdc", "snowmelt.ingest.cdc.binlog",
    "snowmelt.ingest.cdc.kafka",
)  # fmt: skip
"""The packages that have a `jars.lock`."""

_LOCK_LINE = re.compile(r"([\w.-]+):([\w.-]+):([\w.-]+)(?::([\w.-]+))?\s+([0-9a-f]{64})")
_IVY_DEPENDENCY = (
    '<dependency org="{jar.group}" name="{jar.artifact}" rev="{jar.version}"'
    ' transitive="false" conf="default->master">{artifact}</dependency>'
)
_IVY_CLASSIFIER = '<artifact name="{jar.artifact}" type="jar" ext="jar" m:classifier="{jar.classifier}"/>'
_IVY_MODULE = """\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven"><info organisation="snowmelt" module="jars"/>
<configurations><conf name="default"/></configurations>
<dependencies>{dependencies}<conflict org="*" module="*" manager="all"/></dependencies></ivy-module>
"""
"""Two locks may hold two versions of one jar, each for a process of its own: Ivy is to keep both."""

_JAVA_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_RELEASE = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Jar:
    """One line of `jars.lock`: an exact Maven coordinate and the digest of its file."""

    group: str
    artifact: str
    version: str
    sha256: str
    classifier: str = ""
    """Which of several jars of the same coordinate, for the few that need one."""

    @property
    def coordinate(self) -> str:
        return ":".join(part for part in (self.group, self.artifact, self.version, self.classifier) if part)

    @property
    def file_name(self) -> str:
        return "-".join(part for part in (self.artifact, self.version, self.classifier) if part) + ".jar"

    @property
    def marker_name(self) -> str:
        return f"{self.file_name}.verified"


def parse_lock(text: str) -> tuple[Jar, ...]:
    """Return the jars that a lock file's text lists, in its order; an error names a malformed line."""
    jars = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        match = _LOCK_LINE.fullmatch(line)
        if match is None:
            raise configuration(f"jars.lock line {number} is not 'group:artifact:version sha256': {line}")
        group, artifact, version, classifier, sha256 = match.groups()
        jars.append(Jar(group, artifact, version, sha256, classifier or ""))
    return tuple(jars)


def locked_jars(package: str = "snowmelt.engine") -> tuple[Jar, ...]:
    """Return the jars of the lock file that ships with a package."""
    return parse_lock(files(package).joinpath("jars.lock").read_text(encoding="utf-8"))


def default_cache() -> Path:
    """Return the folder the jars live in: `SNOWMELT_JARS`, or the user's cache folder."""
    if override := os.environ.get("SNOWMELT_JARS"):
        return Path(override).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "snowmelt" / "jars"


def ensure_jars(
    cache: Path | None = None,
    jars: Sequence[Jar] | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> tuple[Path, ...]:
    """Return the verified paths of `jars` (default: the lock's), fetching those that `cache` lacks.

    Raises a configuration error when a jar cannot be fetched or is not the one in the lock. A file put there
    by hand is accepted if its digest is right: copying the folder prepares a machine without network.
    """
    folder = default_cache() if cache is None else cache
    wanted = locked_jars() if jars is None else tuple(jars)
    missing = [jar for jar in wanted if not _is_verified(folder, jar) and not _adopt(folder, jar)]
    if missing:
        _fetch(folder, missing, report)
    return tuple(folder / jar.file_name for jar in wanted)


def require_java() -> Path:
    """Return the `java` that Spark will start (JAVA_HOME first, then PATH), which is Java 17 or newer.

    Raises a configuration error otherwise.
    """
    advice = f"Install Java {MINIMUM_JAVA} or newer, or point JAVA_HOME at one."
    if home := os.environ.get("JAVA_HOME"):
        java = Path(home) / "bin" / "java"
        if not os.access(java, os.X_OK):
            raise configuration(f"JAVA_HOME is {home}, but there is no bin/java in it.", hint=advice)
    elif found := shutil.which("java"):
        java = Path(found)
    else:
        raise configuration("Java was not found.", hint=advice)
    version = _java_version(java)
    if version is None:
        raise configuration(f"{java} does not answer 'java -version'.", hint=advice)
    if version < MINIMUM_JAVA:
        raise configuration(f"{java} is Java {version}, which is too old for Spark.", hint=advice)
    return java


def _java_version(java: Path) -> int | None:
    """Return the major version, or None when `java` is not a working one (macOS ships such a placeholder)."""
    # What every Java since 7 has beside it: asking Java itself takes a start of it.
    with suppress(OSError):
        release_file = (java.resolve().parent.parent / "release").read_text(encoding="utf-8", errors="replace")
        if release := _RELEASE.search(release_file):
            return int(release.group(1))
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    match = _JAVA_VERSION.search(answer.stderr + answer.stdout)
    return int(match.group(1)) if match and answer.returncode == 0 else None


def _fingerprint(path: Path, sha256: str) -> dict[str, str | int]:
    """Return what identifies a file whose digest was checked, without reading it again."""
    stat = path.stat()
    # Whole seconds, because images and archives drop the rest when they copy a folder.
    return {"sha256": sha256, "size": stat.st_size, "mtime": int(stat.st_mtime)}


def _is_verified(folder: Path, jar: Jar) -> bool:
    """Tell whether the file is the one whose digest was checked before, by its marker alone."""
    path = folder / jar.file_name
    try:
        recorded = json.loads((folder / jar.marker_name).read_text(encoding="utf-8"))
        return bool(recorded == _fingerprint(path, jar.sha256))
    except (OSError, ValueError):
        return False


def _adopt(folder: Path, jar: Jar) -> bool:
    """Verify a file that has no valid marker; mark and accept it if its digest is the lock's."""
    path = folder / jar.file_name
    if not path.is_file() or _sha256(path) != jar.sha256:
        return False
    # A read-only cache cannot be marked; hashing it at each start is slower, not wrong.
    with suppress(OSError):
        _write_marker(path, jar)
    return True


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _write_marker(path: Path, jar: Jar) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".marker-")
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump(_fingerprint(path, jar.sha256), stream)
    Path(name).replace(path.with_name(jar.marker_name))


def _fetch(folder: Path, jars: Sequence[Jar], report: Callable[[str], None]) -> None:
    """Download `jars` into `folder`, each renamed into place only after its digest was checked."""
    java = require_java()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Inside the folder, so that the rename stays on one file system; per process, so that two
        # processes share nothing until the rename, Ivy's own cache included (it has no locking).
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as scratch:
            report(f"fetching {len(jars)} jars into {folder}")
            downloads = _retrieve(java, Path(scratch), folder, jars)
            for jar in jars:
                download = downloads / jar.file_name
                digest = _sha256(download)
                if digest != jar.sha256:
                    message = f"{jar.coordinate} came with sha256 {digest}, but jars.lock says {jar.sha256}."
                    raise configuration(message, hint="The file was deleted. Check where it comes from.")
                path = folder / jar.file_name
                download.replace(path)
                _write_marker(path, jar)
                report(f"verified {jar.coordinate}")
    except OSError as error:
        message = f"The jars cannot be written to {folder}: {error}."
        raise configuration(message, hint="Set SNOWMELT_JARS to a folder that can be written.") from error


def _retrieve(java: Path, scratch: Path, folder: Path, jars: Sequence[Jar]) -> Path:
    """Let Ivy download `jars` below `scratch`; return the folder that then holds every one of them."""
    module = scratch / "ivy.xml"
    dependencies = "\n".join(
        _IVY_DEPENDENCY.format(jar=jar, artifact=_IVY_CLASSIFIER.format(jar=jar) if jar.classifier else "")
        for jar in jars
    )
    module.write_text(_IVY_MODULE.format(dependencies=dependencies), encoding="utf-8")
    downloads = scratch / "jars"
    command: list[str | Path] = [java, "-jar", _ivy_jar(), "-ivy", module, "-cache", scratch / "cache"]
    # Some jars are declared as bundles of OSGi.
    command += ["-types", "jar", "bundle", "-retrieve", f"{downloads}/[artifact]-[revision](-[classifier]).[ext]"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    absent = [jar.coordinate for jar in jars if not (downloads / jar.file_name).is_file()]
    if absent:
        # Not all of the output: Java repeats its options in it, which may hold a proxy's password.
        output = (answer.stderr + answer.stdout).splitlines()
        reason = next((line.strip() for line in reversed(output) if "error" in line.lower()), "no error")
        raise configuration(
            f"These jars could not be downloaded: {', '.join(absent)} (Ivy says: {reason}).",
            hint=f"Check the network, or copy the files into {folder}.",
        )
    return downloads


def _ivy_jar() -> Path:
    """Return the Ivy inside the pyspark package, found without importing pyspark."""
    spec = find_spec("pyspark")
    found = sorted(Path(spec.origin).parent.glob("jars/ivy-*.jar")) if spec and spec.origin else []
    if not found:
        raise configuration("There is no pyspark package with a jars/ivy-*.jar in it.", hint="Run 'make setup'.")
    return found[-1]


def main() -> int:
    """Check Java and fetch what is missing; return the exit status."""
    try:
        require_java()
        # Once each: locks share jars.
        wanted = list(dict.fromkeys(jar for package in _LOCKS for jar in locked_jars(package)))
        paths = ensure_jars(jars=wanted, report=print)
    except SnowmeltError as error:
        print(f"snowmelt: {error.message} {error.hint or ''}", file=sys.stderr)
        return 1
    print(f"{len(paths)} jars ready in {default_cache()}")
    return 0

"""The jar cache: what is verified, what is refused, and when nothing is started at all."""

from __future__ import annotations

import hashlib
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.engine import jars as jars_module
from snowmelt.engine.jars import Jar, ensure_jars, locked_jars, main, parse_lock, require_java

CONTENT = b"not really a jar"


def a_jar(artifact: str, content: bytes = CONTENT) -> Jar:
    return Jar("org.example", artifact, "1.0", hashlib.sha256(content).hexdigest())


FakeJava = Callable[..., Path]


@pytest.fixture
def fake_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeJava:
    """Put a `java` first on PATH that has a version and that "downloads" the given files."""

    def install(version: str = "17.0.1", downloads: dict[str, bytes] | None = None) -> Path:
        repository = tmp_path / "repository"
        repository.mkdir(exist_ok=True)
        for name, content in (downloads or {}).items():
            (repository / name).write_bytes(content)
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        script = folder / "java"
        script.write_text(
            "#!/bin/sh\n"
            f"echo \"$@\" >> '{tmp_path}/calls'\n"
            f'if [ "$1" = -version ]; then echo \'openjdk version "{version}" 2024-01-01\' >&2; exit 0; fi\n'
            "for last; do :; done\n"
            'mkdir -p "$(dirname "$last")"\n'
            f'cp \'{repository}\'/* "$(dirname "$last")" 2>/dev/null\n'
            "echo 'Server access error' >&2; echo 'Picked up JAVA_TOOL_OPTIONS: secret' >&2\n"
        )
        script.chmod(0o755)
        monkeypatch.delenv("JAVA_HOME", raising=False)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return script

    return install


@pytest.fixture
def no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "run", refuse)
    monkeypatch.setattr(subprocess, "Popen", refuse)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_shipped_lock_names_the_delta_jars() -> None:
    assert {jar.coordinate for jar in locked_jars()} >= {
        "io.delta:delta-spark_4.1_2.13:4.4.0",
        "io.delta:delta-storage:4.4.0",
    }


def test_a_lock_may_have_comments_and_blank_lines() -> None:
    assert parse_lock(f"# why\n\norg.example:one:1.0  {'0' * 64}\n") == (Jar("org.example", "one", "1.0", "0" * 64),)


@pytest.mark.parametrize(
    "line", ["org.example:one:1.0", "org.example:one 00", f"one:1.0 {'0' * 64}", f"a:b:1.0 {'0' * 63}"]
)
def test_a_malformed_lock_line_is_named(line: str) -> None:
    with pytest.raises(SnowmeltError, match="line 2 is not"):
        parse_lock(f"# first\n{line}\n")


def test_missing_jars_are_fetched_and_only_they(tmp_path: Path, fake_java: FakeJava) -> None:
    present, absent = a_jar("present"), a_jar("absent")
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / present.file_name).write_bytes(CONTENT)
    fake_java(downloads={absent.file_name: CONTENT})
    said: list[str] = []

    paths = ensure_jars(cache, [present, absent], report=said.append)

    assert paths == (cache / "present-1.0.jar", cache / "absent-1.0.jar")
    assert said == [f"fetching 1 jars into {cache}", "verified org.example:absent:1.0"]
    # No temporary folder or half-written marker is left beside them.
    assert names(cache) == [
        "absent-1.0.jar",
        "absent-1.0.jar.verified",
        "present-1.0.jar",
        "present-1.0.jar.verified",
    ]


def test_two_versions_of_one_jar_are_both_fetched(tmp_path: Path) -> None:
    """With the real Ivy, which keeps only the newest of a jar unless it is told."""
    both = [
        jar
        for package in ("snowmelt.ingest.cdc", "snowmelt.ingest.cdc.binlog")
        for jar in locked_jars(package)
        if jar.artifact == "debezium-openlineage-api"
    ]
    assert len({jar.version for jar in both}) == 2

    paths = ensure_jars(tmp_path / "jars", both)

    assert [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths] == [jar.sha256 for jar in both]


def test_a_wrong_digest_is_refused_and_deleted(tmp_path: Path, fake_java: FakeJava) -> None:
    jar = a_jar("tampered")
    fake_java(downloads={jar.file_name: b"something else"})

    with pytest.raises(SnowmeltError, match=r"org\.example:tampered:1\.0 came with sha256"):
        ensure_jars(tmp_path / "cache", [jar])

    assert names(tmp_path / "cache") == []


def test_a_failed_download_says_which_jars_and_what_to_do(tmp_path: Path, fake_java: FakeJava) -> None:
    fake_java()
    with pytest.raises(
        SnowmeltError,
        match=r"org\.example:one:1\.0 .Ivy says: Server access error.\.\nCheck the network, or copy",
    ):
        ensure_jars(tmp_path / "cache", [a_jar("one")])


def test_a_cache_that_cannot_be_written_is_one_sentence(tmp_path: Path, fake_java: FakeJava) -> None:
    fake_java()
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SnowmeltError, match=r"(?s)cannot be written to .*Set SNOWMELT_JARS"):
        ensure_jars(tmp_path / "file" / "cache", [a_jar("one")])


@pytest.mark.usefixtures("no_process")
def test_the_second_start_neither_starts_a_process_nor_hashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = a_jar("one")
    (tmp_path / jar.file_name).write_bytes(CONTENT)
    ensure_jars(tmp_path, [jar])

    monkeypatch.setattr(jars_module, "_sha256", lambda _: pytest.fail("hashed again"))
    assert ensure_jars(tmp_path, [jar]) == (tmp_path / jar.file_name,)


@pytest.mark.parametrize("damage", [b"shorter", b"NOT REALLY A JAR"])
def test_a_file_changed_after_it_was_verified_is_fetched_again(
    tmp_path: Path, fake_java: FakeJava, damage: bytes
) -> None:
    jar = a_jar("one")
    cache = tmp_path / "cache"
    cache.mkdir()
    path = cache / jar.file_name
    path.write_bytes(CONTENT)
    ensure_jars(cache, [jar])
    path.write_bytes(damage)
    os.utime(path, (1, 1))
    fake_java(downloads={jar.file_name: CONTENT})

    ensure_jars(cache, [jar])

    assert path.read_bytes() == CONTENT


@pytest.mark.usefixtures("no_process")
def test_a_damaged_marker_only_costs_a_hash(tmp_path: Path) -> None:
    jar = a_jar("one")
    (tmp_path / jar.file_name).write_bytes(CONTENT)
    (tmp_path / jar.marker_name).write_text("{half a mark")
    ensure_jars(tmp_path, [jar])
    assert "sha256" in (tmp_path / jar.marker_name).read_text()


def test_a_new_digest_in_the_lock_invalidates_the_old_file(tmp_path: Path, fake_java: FakeJava) -> None:
    cache = tmp_path / "cache"
    fake_java(downloads={"one-1.0.jar": CONTENT})
    ensure_jars(cache, [a_jar("one")])
    fake_java(downloads={"one-1.0.jar": b"rebuilt"})

    (path,) = ensure_jars(cache, [a_jar("one", b"rebuilt")])

    assert path.read_bytes() == b"rebuilt"


def test_two_fetches_at_once_both_succeed(tmp_path: Path, fake_java: FakeJava) -> None:
    jar = a_jar("one")
    cache = tmp_path / "cache"
    fake_java(downloads={jar.file_name: CONTENT})
    start = threading.Barrier(4)
    results: list[tuple[Path, ...]] = []

    def fetch() -> None:
        start.wait()
        results.append(ensure_jars(cache, [jar]))

    threads = [threading.Thread(target=fetch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [(cache / jar.file_name,)] * 4
    assert names(cache) == [jar.file_name, jar.marker_name]


def test_the_cache_folder_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SNOWMELT_JARS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert jars_module.default_cache() == tmp_path / "snowmelt" / "jars"
    monkeypatch.setenv("SNOWMELT_JARS", str(tmp_path / "mine"))
    assert jars_module.default_cache() == tmp_path / "mine"


@pytest.mark.parametrize("version", ["17", "17.0.15", "21-ea", "25.0.1"])
def test_a_new_enough_java_is_found_on_the_path(fake_java: FakeJava, version: str) -> None:
    script = fake_java(version)
    assert require_java() == script


@pytest.mark.parametrize(("version", "major"), [("1.8.0_392", 8), ("11.0.2", 11), ("16", 16)])
def test_an_old_java_is_one_sentence(fake_java: FakeJava, version: str, major: int) -> None:
    fake_java(version)
    with pytest.raises(SnowmeltError, match=f"is Java {major}, which is too old for Spark"):
        require_java()


def test_no_java_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SnowmeltError, match=r"Java was not found\.\nInstall Java 17 or newer"):
        require_java()


def test_java_home_wins_over_the_path(tmp_path: Path, fake_java: FakeJava, monkeypatch: pytest.MonkeyPatch) -> None:
    script = fake_java("17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert require_java() == script
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(SnowmeltError, match=r"JAVA_HOME is .*nowhere, but there is no bin/java in it"):
        require_java()


def test_a_java_that_does_not_answer_is_one_sentence(fake_java: FakeJava) -> None:
    fake_java().write_text("#!/bin/sh\nexit 2\n")
    with pytest.raises(SnowmeltError, match="does not answer"):
        require_java()


def test_the_command_prints_one_sentence_and_fails(fake_java: FakeJava, capsys: pytest.CaptureFixture[str]) -> None:
    fake_java("11.0.2")
    assert main() == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "too old for Spark" in said.err

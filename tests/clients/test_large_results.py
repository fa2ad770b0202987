"""Results that are larger than the memory they may take: in parts to the client, and gone with its session."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.clients.environments import client_environment, client_python
from tests.crash.serving import await_that, served
from tests.crash.test_processes import small_spark
from tests.support.waiting import DEADLINE

SUITES = Path(__file__).parent / "suites"
ROWS = 1_500_000
BOUND = 200 * 1024 * 1024
"""Bytes by which the server's process may grow. The rows take twice as much."""


def _most_memory(pid: int) -> int:
    """The most bytes that the process has had at once."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
    assert found is not None
    return int(found[1]) * 1024


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured as Linux shows it")
@pytest.mark.parametrize("source", ["generated", "stored"])
def test_rows_are_never_in_memory_together(tmp_path: Path, source: str) -> None:
    data = tmp_path / "data"
    made = f"SELECT SEQ4() AS n, REPEAT('x', 300) || n AS filler FROM TABLE(GENERATOR(ROWCOUNT => {ROWS}))"
    config = small_spark(tmp_path / "snowmelt.toml")
    config.write_text("small_query_bytes = 1000000\n" + config.read_text(encoding="utf-8"), encoding="utf-8")
    with served(data, config) as server:
        server.session.execute(f"CREATE TABLE many AS {made}" if source == "stored" else "SELECT 1")
        query = "SELECT * FROM many" if source == "stored" else made
        before = _most_memory(server.process.process.pid)
        environment = client_environment() | {
            "SNOWMELT_PORT": server.url.rpartition(":")[2], "SNOWMELT_ADMIN_PASSWORD": "chosen",
            "SNOWMELT_DATABASE": "SNOWMELT", "QUERY": query,
        }  # fmt: skip
        with subprocess.Popen(
            [client_python("python4"), str(SUITES / "large_result.py")], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        ) as client:  # fmt: skip
            assert client.stdout is not None
            assert client.stdout.readline().split() == [str(ROWS), str(ROWS * (ROWS - 1) // 2)]
            grown = _most_memory(server.process.process.pid) - before
            assert grown < BOUND, f"{grown / 2**20:.0f} MB"
            assert _files(data), "the rows lie in files while somebody may ask for them"
            client.communicate("\n", timeout=DEADLINE)
        await_that(lambda: not _files(data), "the files of the session are removed")
        server.stop()


def _files(data: Path) -> list[Path]:
    return [path for path in (data / "results").rglob("*") if path.is_file()]

"""Commands in processes that are killed."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from tests.clients.server import PASSWORD
from tests.crash.driver import Zygote


@dataclass(frozen=True, slots=True)
class Life:
    killed: bool
    code: int | None
    output: str


class Commands:
    """Each command is a process of its own, with journals in one folder."""

    def __init__(self, zygote: Zygote, url: str, folder: Path) -> None:
        self._zygote = zygote
        self._url = url
        self.folder = folder
        folder.mkdir(parents=True)
        self._count = 0

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    def run(self, *arguments: str, kill_at: str | None = None) -> Life:
        self._count += 1
        paths = {name: self.folder / f"{self._count}.{name}" for name in ("report", "error", "output")}
        environment = {
            "SNOWMELT_ADMIN_PASSWORD": PASSWORD, "SNOWMELT_URL": self._url, "SNOWMELT_RUNS": str(self.runs),
            "COLUMNS": "200", "TERM": "dumb",
        }  # fmt: skip
        order = {
            "arguments": list(arguments), "environment": environment, "kill_at": kill_at,
            **{name: str(path) for name, path in paths.items()},
        }  # fmt: skip
        status = self._zygote.run(order, None)
        output = paths["output"].read_text() if paths["output"].exists() else ""
        assert status in (0, -signal.SIGKILL), paths["error"].read_text() if paths["error"].exists() else output
        code = int(paths["report"].read_text()) if paths["report"].exists() else None
        return Life(status != 0, code, output)


def zygote(module: str = "tests.playbooks.child") -> Zygote:
    os.environ.pop("SNOWMELT_TEST_KILL_AT", None)
    return Zygote(module)

"""Readers of Iceberg in a process of their own, with nothing of Snowmelt in it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.clients.environments import client_environment, client_python
from tests.support.waiting import DEADLINE


class IcebergReaders:
    def __init__(self) -> None:
        command = [str(client_python("iceberg")), str(Path(__file__).parent / "iceberg_reader.py")]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=client_environment()
        )

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def ask(self, question: dict[str, Any]) -> list[dict[str, str | None]]:
        """The rows."""
        answer = self.answer(question)
        assert "rows" in answer, answer["error"]
        rows: list[dict[str, str | None]] = answer["rows"]
        return rows

    def close(self) -> None:
        self.process.communicate(timeout=DEADLINE)

"""The procedure's side of the conversation: asking the server for statements. Nothing but Python's own modules."""

from __future__ import annotations

import json
import threading
from typing import Any, BinaryIO


class SQLError(Exception):
    """A statement failed. `code` and `sqlstate` are Snowflake's."""

    def __init__(self, code: str, sqlstate: str, message: str, query_id: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.errno = int(code) if code.isdigit() else None
        self.sqlstate = sqlstate
        self.message = message
        self.sfqid = query_id


class Asking:
    """Asks the server. Threads of a procedure wait for each other: its session runs one statement at a time."""

    def __init__(self, questions: BinaryIO, answers: BinaryIO) -> None:
        self._questions = questions
        self._answers = answers
        self._lock = threading.Lock()

    def __call__(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer, as the server's clients get it: with `success`."""
        with self._lock:
            self._questions.write(json.dumps({"ask": request}).encode() + b"\n")
            self._questions.flush()
            line = self._answers.readline()
        if not line:
            raise SystemExit("nobody answers any more")
        found = json.loads(line)
        return found if isinstance(found, dict) else {}

    def data(self, request: dict[str, Any]) -> dict[str, Any]:
        """The data of the answer. Raises SQLError when the statement failed."""
        answer = self(request)
        data: dict[str, Any] = answer.get("data") or {}
        if not answer.get("success"):
            message = answer.get("message") or ""
            code, state = str(answer.get("code") or ""), str(data.get("sqlState") or "")
            raise SQLError(code, state, message, data.get("queryId"))
        return data

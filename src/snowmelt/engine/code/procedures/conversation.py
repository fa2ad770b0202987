"""A call of a procedure in a process of its own: it asks for statements as it goes, and ends with a value.

Every call has a fresh process, so that nothing of one user's call is left for the next. Lines of JSON go both ways. The
process is killed when the statement is cancelled, when its own code takes too long, and when it ends in any other way.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any

from snowmelt.engine.code.client import ENVIRONMENT, ONE_THREAD, START, CodeError

_LOOK = 0.1
"""Seconds between two looks whether the statement was cancelled."""
_LONGEST = 256 * 1024 * 1024
"""Bytes of one line."""
Message = dict[str, Any]


class ProcedureProcess:
    """One process. `interpreter` is the Python whose packages the code sees; `program` its modules."""

    def __init__(self, interpreter: str, program: str, memory: int, seconds: float) -> None:
        environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        self._seconds = seconds
        self._used = 0.0
        self._rest = b""
        self._process = subprocess.Popen(
            [interpreter, "-I", "-c", START, str(memory)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tempfile.gettempdir(),
            env=environment | dict.fromkeys(ONE_THREAD, "1"), start_new_session=True,
        )  # fmt: skip
        self._unsent = program.encode() + b"\n"

    def run(self, call: Message, answer: Callable[[Message], Mapping[str, Any]], check: Callable[[], None]) -> Message:
        """Sends the call, answers what the process asks, and gives its last message.

        `check` raises when the statement was cancelled. Raises CodeError when the process ends without an answer.
        """
        try:
            self._send(call)
            while True:
                message = self._receive(check)
                if "ask" not in message:
                    return message
                self._send(answer(message))
        finally:
            self.close()

    def _send(self, message: Mapping[str, Any]) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(self._unsent + json.dumps(message).encode() + b"\n")
            stdin.flush()
        except OSError:
            raise CodeError(self._ended()) from None
        self._unsent = b""

    def _receive(self, check: Callable[[], None]) -> Message:
        stdout = self._process.stdout
        assert stdout is not None
        since = time.monotonic()
        parts, size = [self._rest], len(self._rest)
        while not parts[-1].endswith(b"\n"):
            check()
            if self._used + time.monotonic() - since > self._seconds:
                raise CodeError(f"The procedure's own code took longer than {self._seconds:g} seconds.")
            if not select.select([stdout], [], [], _LOOK)[0]:
                continue
            part = os.read(stdout.fileno(), 1 << 16)
            size += len(part)
            if not part or size > _LONGEST:
                raise CodeError(self._ended())
            parts.append(part)
        self._used += time.monotonic() - since
        found = json.loads(b"".join(parts))
        return found if isinstance(found, dict) else {}

    def _ended(self) -> str:
        self.close()
        status = self._process.returncode
        if status == -signal.SIGKILL:
            return "The process that ran the procedure was killed."
        return f"The process that ran the procedure ended (status {status})."

    def close(self) -> None:
        """Ends the process, and what it started."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except OSError:
            self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:
                # What was to be written still has nobody to read it.
                continue
        self._process.wait()

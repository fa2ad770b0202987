"""Asks the process that runs users' Python (`host`): from the quick lane, and from Spark's workers.

Spark's workers are sent this module itself, so it needs nothing but Python's own.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from types import ModuleType

_ROWS = 5_000
"""In one request."""
ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TZ", "HOME", "TMPDIR", "SSL_CERT_FILE")
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_IDLE = 2
_HOSTS = "_snowmelt_code_hosts"
_FAILED = "SNOWMELT:100357:P0000:Python Interpreter Error:\n"
START = """
import json, sys, types
for name, text in json.loads(open(0, "rb", buffering=0, closefd=False).readline()):
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, name, "exec"), vars(module))
module.main()
"""


class CodeError(Exception):
    """What the user's code raised, or how it was ended."""


class TooSlowError(CodeError):
    """The caller did not want to wait any longer."""


class CodeHost:
    """One process. One thread at a time asks it."""

    def __init__(self, program: str, memory: int) -> None:
        """The process knows nothing of the server's environment, where secrets are. `program` are its modules."""
        environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        environment |= dict.fromkeys(ONE_THREAD, "1")
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", START, str(memory)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tempfile.gettempdir(),
            env=environment,
        )  # fmt: skip
        self._unsent = program.encode() + b"\n"
        self._known: set[str] = set()

    def call(
        self, name: str, spec: str, rows: list[list[str | None]], until: float | None = None
    ) -> list[str | None]:  # fmt: skip
        """A text for each row. Raises CodeError; the process may be gone after that (`alive`)."""
        found: list[str | None] = []
        for start in range(0, len(rows), _ROWS):
            found += self._ask(name, spec, rows[start : start + _ROWS], until)
        return found

    def _ask(self, name: str, spec: str, rows: list[list[str | None]], until: float | None) -> list[str | None]:
        answer = self._answer({"name": name, "rows": rows, **self._unless_known(name, spec)}, spec, until)
        if "unknown" in answer:
            self._known.discard(name)
            answer = self._answer({"name": name, "rows": rows, **self._unless_known(name, spec)}, spec, until)
        if "error" in answer:
            raise CodeError(str(answer["error"]))
        self._known.add(name)
        values = answer["values"]
        if not isinstance(values, list) or len(values) != len(rows):
            raise CodeError("The process that runs Python gave no answer for each row.")
        return values

    def _unless_known(self, name: str, spec: str) -> dict[str, object]:
        return {} if name in self._known else {"spec": json.loads(spec)}

    def _answer(self, request: dict[str, object], spec: str, until: float | None) -> dict[str, object]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        try:
            stdin.write(self._unsent + json.dumps(request).encode() + b"\n")
            stdin.flush()
            self._unsent = b""
        except OSError:
            raise CodeError(self._ended(spec)) from None
        parts: list[bytes] = []
        while not parts or not parts[-1].endswith(b"\n"):
            if until is not None and not select.select([stdout], [], [], max(until - time.monotonic(), 0))[0]:
                self.close()
                raise TooSlowError("It takes too long for the quick lane.")
            part = os.read(stdout.fileno(), 1 << 16)
            if not part:
                raise CodeError(self._ended(spec))
            parts.append(part)
        found = json.loads(b"".join(parts))
        return found if isinstance(found, dict) else {}

    def _ended(self, spec: str) -> str:
        """How the process died, which is what the code did."""
        self.close()
        if self._process.returncode == -signal.SIGALRM:
            return f"A call took longer than {json.loads(spec)['seconds']:g} seconds (python_seconds)."
        return f"The process that runs Python ended (status {self._process.returncode})."

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        """Ends the process while another thread waits for its answer; that thread closes it."""
        self._process.kill()

    def close(self) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:
                # What was to be written still has nobody to read it.
                continue
        self._process.wait()


class CodeHosts:
    """A few processes that are kept for the next call. Safe to use from many threads."""

    def __init__(self, program: str, memory: int) -> None:
        self._program = program
        self._memory = memory
        self._lock = threading.Lock()
        self._idle: deque[CodeHost] = deque()
        self._busy: set[CodeHost] = set()
        self._closed = False

    def call(
        self, name: str, spec: str, rows: list[list[str | None]], until: float | None = None
    ) -> list[str | None]:  # fmt: skip
        host = self._take()
        try:
            return host.call(name, spec, rows, until)
        finally:
            self._give_back(host)

    def _take(self) -> CodeHost:
        with self._lock:
            while self._idle:
                host = self._idle.pop()
                if host.alive:
                    self._busy.add(host)
                    return host
                host.close()
        host = CodeHost(self._program, self._memory)
        with self._lock:
            self._busy.add(host)
        return host

    def _give_back(self, host: CodeHost) -> None:
        with self._lock:
            self._busy.discard(host)
            if host.alive and len(self._idle) < _IDLE and not self._closed:
                self._idle.append(host)
                return
        host.close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = list(self._idle), deque()
            busy = list(self._busy)
        for host in idle:
            host.close()
        for host in busy:
            host.stop()


def in_a_worker(
    program: str, memory: int, name: str, spec: str, rows: list[list[str | None]]
) -> list[str | None]:  # fmt: skip
    """As `CodeHosts.call` in one of Spark's workers, which unpickles this module for each task but keeps the process.

    Raises errors that `engine.errors` reads.
    """
    holder = vars(sys.modules.setdefault(_HOSTS, ModuleType(_HOSTS)))
    key = f"{memory}:{program}"
    if key not in holder:
        holder[key] = CodeHosts(program, memory)
    try:
        found: list[str | None] = holder[key].call(name, spec, rows)
    except Exception as error:
        # Tracebacks quote this line, so what `engine.errors` looks for does not stand in it.
        raise RuntimeError(_FAILED + str(error)) from None
    return found

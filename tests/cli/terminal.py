"""A program in a terminal of its own, as a person has it: keys go in, a screen comes out."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

from tests.crash.test_processes import environment
from tests.support.waiting import DEADLINE

_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]|\x1b\][^\x07]*\x07|\r")
_WHERE = b"\x1b[6n"
"""What a program asks that wants to know where the cursor is."""

_IN_TERMINAL = """
import os, signal, sys
terminal = os.open(sys.argv[1], os.O_RDWR)
for stream in (0, 1, 2):
    os.dup2(terminal, stream)
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.executable, [sys.executable, "-m", "snowmelt", *sys.argv[2:]])
"""
"""The first terminal that a new session opens becomes its own, so that Ctrl-C reaches the program as a signal.

Whoever runs the tests in the background may have told all its children to ignore that signal.
"""


class Terminal:
    """`snowmelt …` in a pseudo-terminal of 200 columns. Leave it by `with`."""

    def __init__(self, *arguments: str, home: Path, **more: str) -> None:
        ours, theirs = pty.openpty()
        self._ours = ours
        self.text = ""
        """All that was printed, without what moves the cursor and sets colours."""
        self._raw = b""
        self.process = subprocess.Popen(
            [sys.executable, "-c", _IN_TERMINAL, os.ttyname(theirs), *arguments],
            env=environment(TERM="xterm", LINES="50", XDG_STATE_HOME=str(home), PAGER="none", **more),
            start_new_session=True,
        )  # fmt: skip
        self._theirs = theirs

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)
        os.close(self._theirs)

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def see(self, pattern: str) -> re.Match[str]:
        """Waits until this is printed, behind what was seen before."""
        until = time.monotonic() + DEADLINE
        while True:
            match = re.search(pattern, self.text)
            if match is not None:
                self.text = self.text[match.end() :]
                return match
            assert time.monotonic() < until, f"{pattern!r} was not printed. There is: {self.text}"
            assert self._read(), f"{pattern!r} was not printed before the program ended. There is: {self.text}"

    def ended(self) -> int:
        """The program's exit code, once it has printed everything."""
        until = time.monotonic() + DEADLINE
        while self._read():
            assert time.monotonic() < until, f"The program did not end. There is: {self.text}"
        return self.process.wait(DEADLINE)

    def _read(self) -> bool:
        """Reads what there is. False when the program has ended."""
        if not select.select([self._ours], [], [], 0.2)[0]:
            return self.process.poll() is None
        try:
            got = os.read(self._ours, 65536)
        except OSError:
            return False
        self._raw += got
        while _WHERE in self._raw:
            self._raw = self._raw.replace(_WHERE, b"", 1)
            os.write(self._ours, b"\x1b[1;1R")
        self.text += _CODES.sub("", self._raw.decode(errors="replace"))
        self._raw = b""
        return bool(got)

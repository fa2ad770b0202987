"""Where the program starts, and ends."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading

from snowmelt.cli.imports import import_quickly

_INTERRUPTED = 130


def run() -> None:
    """Runs the command that the arguments name."""
    try:
        import_quickly("snowmelt.cli.main").app()
    except SystemExit as ending:
        _leave(0 if ending.code is None else ending.code)
        raise
    except KeyboardInterrupt:
        # While something was imported: nothing has begun that would have to be ended.
        _leave(_INTERRUPTED)
        raise SystemExit(_INTERRUPTED) from None


def _leave(code: object) -> None:
    """Ends the process here, after what `atexit` was given and with all output written.

    Python would free every module first, which takes a quarter of a small command's time. It still does where
    threads have to end by themselves, and where output can't be written: it says so then.
    """
    # Whoever presses Ctrl-C once more wants no more of it, and no traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    others = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    if not isinstance(code, int) or any(not thread.daemon for thread in others):
        return
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return
    os._exit(code & 0xFF)

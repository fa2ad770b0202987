"""Where the program starts, and ends."""

from __future__ import annotations

import atexit
import os
import sys
import threading

from snowmelt.cli.imports import import_quickly


def run() -> None:
    """Runs the command that the arguments name."""
    try:
        import_quickly("snowmelt.cli.main").app()
    except SystemExit as ending:
        _leave(0 if ending.code is None else ending.code)
        raise


def _leave(code: object) -> None:
    """Ends the process here, after what `atexit` was given and with all output written.

    Python would free every module first, which takes a quarter of a small command's time. It still does where
    threads have to end by themselves, and where output can't be written: it says so then.
    """
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

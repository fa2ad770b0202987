"""Where and with what the numbers were made."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("pyspark", "deltalake", "sqlglot", "pyarrow", "sqlalchemy")


def describe() -> dict[str, str | int | float]:
    """The machine, the versions, the moment, and how busy the machine already was."""
    described: dict[str, str | int | float] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load_average": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "java": _first_line(["java", "-version"]),
        "snowmelt": version("snowmelt"),
        "commit": _first_line(["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]),
    }
    return described | {package: version(package) for package in PACKAGES}


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    lines = (done.stdout + done.stderr).splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else "unknown"

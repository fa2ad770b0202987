"""Programs of Debian's packages, unpacked into the cache: nothing is installed, and nobody has to be root."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from snowmelt.engine.jars import default_cache


def unpacked(*packages: str) -> Path:
    """A folder with the packages' files. Skips the test where they can't be had."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        pytest.skip(f"needs {packages[0]}, which is unpacked from Debian's packages, and this is no Debian")
    named = hashlib.sha256(" ".join(packages).encode()).hexdigest()[:12]
    folder = default_cache().parent / "debian" / f"{packages[0]}-{named}"
    if not folder.exists():
        _unpack(folder, packages)
    return folder


def library_path(folder: Path) -> dict[str, str]:
    """The environment in which programs find the libraries that were unpacked beside them."""
    found = {str(path.parent) for path in folder.glob("**/*.so*")}
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(sorted(found))}


def _unpack(folder: Path, packages: tuple[str, ...]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".debian-", dir=folder.parent) as scratch:
        fetched, draft = Path(scratch) / "packages", Path(scratch) / "files"
        fetched.mkdir()
        done = subprocess.run(
            ["apt-get", "download", *packages], cwd=fetched, capture_output=True, text=True, timeout=300, check=False
        )
        if done.returncode:
            pytest.skip(f"needs {packages[0]} of Debian, which can't be fetched: {done.stderr.strip()[-300:]}")
        for package in sorted(fetched.glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", str(package), str(draft)], check=True, timeout=120)
        try:
            draft.replace(folder)
        except OSError:
            # Another process was faster; its folder is as good.
            if not folder.exists():
                raise

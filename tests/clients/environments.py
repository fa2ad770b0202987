"""Virtual environments with the clients' real packages, made once for each lock file.

Clients pin versions that conflict with each other and with ours, so each group has a lock and an environment of its
own, beside the cached jars. An environment appears complete or not at all.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from uv import find_uv_bin

from snowmelt.engine.jars import default_cache

LOCKS = Path(__file__).parent / "locks"


def client_python(name: str) -> Path:
    """The interpreter of the environment that `locks/<name>.lock` describes."""
    lock = LOCKS / f"{name}.lock"
    described = hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()[:16]
    folder = default_cache().parent / "clients" / f"{name}-{described}"
    if not folder.exists():
        _make(folder, lock)
    return folder / "bin" / "python"


def client_command(name: str, command: str) -> Path:
    return client_python(name).parent / command


def node_modules(source: Path) -> Path:
    """A folder with `source` and the packages that its package-lock.json describes."""
    described = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(source.iterdir()))).hexdigest()[:16]
    folder = default_cache().parent / "clients" / f"node-{described}"
    if not folder.exists():
        draft = folder.with_name(f".{folder.name}-{os.getpid()}")
        shutil.copytree(source, draft)
        _run("npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", draft)
        draft.replace(folder)
    return folder


def client_environment() -> dict[str, str]:
    """The variables that a client's process gets: nothing of ours that would lead it astray."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "SNOWFLAKE_", "DBT_"))}
    return kept | {"DO_NOT_TRACK": "1", "SF_TELEMETRY_ENABLED": "false"}


def _make(folder: Path, lock: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    uv = find_uv_bin()
    try:
        _run(uv, "venv", "--quiet", "--allow-existing", "--relocatable", "--python", sys.executable, draft)
        _run(uv, "pip", "install", "--quiet", "--require-hashes", "--python", draft / "bin" / "python", "-r", lock)
        draft.replace(folder)
    except OSError:
        # Another process was faster; its environment is as good.
        if not folder.exists():
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _run(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")

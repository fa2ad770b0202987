"""The key with which PII_TOKEN makes tokens of an account: from the environment, or made once and kept."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

VARIABLE = "SNOWMELT_TOKEN_KEY"
_FILE = "token.key"


def load_key(data_dir: Path) -> str:
    """Another key makes other tokens of the same values: whoever restores an account needs this file, too."""
    given = os.environ.get(VARIABLE)
    if given:
        return given
    path = data_dir / _FILE
    if not path.exists():
        draft = path.with_name(f"{path.name}.tmp")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as handle:
            handle.write(secrets.token_hex(32))
        draft.replace(path)
    return path.read_text(encoding="ascii")

"""PACKAGES of functions and procedures: they must be installed beside the server, in the versions asked for."""

from __future__ import annotations

import json
import operator
import re
import subprocess
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import metadata

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError

_PACKAGE = re.compile(r"\s*+([A-Za-z0-9][A-Za-z0-9._-]*+)\s*+(?:\[[^\]]*+\]\s*+)?((?:[=<>!~].*)?)\Z")
_CLAUSE = re.compile(r"\s*(===?|=|!=|~=|>=|<=|>|<)\s*(\d+(?:\.\d+)*)(\.\*)?\s*\Z")
_OWN = frozenset({"snowflake-snowpark-python", "python"})
"""What the server answers itself."""
_COMPARED: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt,
}  # fmt: skip
_LIST = (
    "import json; from importlib.metadata import distributions; "
    "print(json.dumps([[found.name, found.version] for found in distributions()]))"
)
Version = tuple[int, ...]


def check(kind: str, wanted: Iterable[str], interpreter: str | None = None) -> None:
    """Raises for packages that are missing, or there in another version. Without `interpreter`: of the server's own."""
    versions = _own_version if interpreter is None else lambda name: _versions_of(interpreter).get(name)
    problems = [problem for text in wanted if (problem := _problem(text, versions)) is not None]
    if problems:
        raise errors.compilation(
            "391546",
            "22023",
            f"Cannot create a Python {kind.lower()} with the specified packages. Please check your packages "
            f"specification and try again. {' '.join(problems)}",
            hint="Install them where the code runs: in the server's own Python, or for procedures in procedure_python.",
        )


def _own_version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


@lru_cache(maxsize=4)
def _versions_of(interpreter: str) -> dict[str, str]:
    """What is installed there, asked once: a server is started again after an installation."""
    try:
        listed = subprocess.run(
            [interpreter, "-I", "-c", _LIST], capture_output=True, text=True, timeout=60, check=True,
            stdin=subprocess.DEVNULL,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        raise SnowmeltError(
            "391546", "22023", "The interpreter for procedures does not start.",
            hint="procedure_python in snowmelt.toml must name a Python.",
        ) from None  # fmt: skip
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in json.loads(listed)}


def _problem(text: str, versions: Callable[[str], str | None]) -> str | None:
    found = _PACKAGE.match(text)
    if found is None:
        return f"'{text}' is no package."
    name, asked = re.sub(r"[-_.]+", "-", found[1]).lower(), found[2]
    if name in _OWN:
        return None
    installed = versions(name)
    if installed is None:
        return f"'{name}' is not installed."
    clauses = [_CLAUSE.match(clause) for clause in asked.split(",")] if asked else []
    if any(clause is None for clause in clauses):
        return f"'{text}' is no package."
    version = _numbers(installed)
    fits = all(_fits(version, clause[1], _numbers(clause[2])) for clause in clauses if clause)
    return None if fits else f"'{text}': {installed} is installed."


def _numbers(text: str) -> Version:
    """Of a release: what follows its numbers (rc1, post2) counts as the release."""
    found = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def _fits(installed: Version, sign: str, asked: Version) -> bool:
    if sign == "~=":
        return _padded(installed, asked) >= asked and installed[: len(asked) - 1] == asked[:-1]
    if sign in _COMPARED:
        width = max(len(installed), len(asked))
        return _COMPARED[sign](_padded(installed, (0,) * width), _padded(asked, (0,) * width))
    # `numpy=1.26`, as Snowflake's packages are named, and `numpy==1.26` mean any release that begins so.
    same = _padded(installed, asked)[: len(asked)] == asked
    return not same if sign == "!=" else same


def _padded(version: Version, like: Version) -> Version:
    return version + (0,) * (len(like) - len(version))

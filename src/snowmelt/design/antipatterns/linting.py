"""`snowmelt lint`: files and folders in, findings out; and the edits that mend some of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from snowmelt.core import errors
from snowmelt.core.config import FILE_NAME
from snowmelt.design.antipatterns.dbt import dbt_findings, is_dbt
from snowmelt.design.antipatterns.library import Library, library
from snowmelt.design.antipatterns.model import Edit, Finding, known_antipatterns, ordered
from snowmelt.design.antipatterns.on_queries import query_findings
from snowmelt.design.antipatterns.on_statements import statement_findings
from snowmelt.design.antipatterns.python_files import sql_of


def lint_library(given: Library) -> list[Finding]:
    found: list[Finding] = []
    for item in given.items:
        for identifier, message, edits in (*query_findings(item, given), *statement_findings(item, given)):
            if identifier not in item.ignored:
                found.append(Finding(known_antipatterns()[identifier], item.file, item.line, item.name, message, edits))
    return ordered(found)


def lint_texts(files: Iterable[tuple[str, str]]) -> list[Finding]:
    return lint_library(library(files))


def lint_paths(paths: Sequence[Path]) -> list[Finding]:
    """Every .sql file in or below the paths, and .py of projects; folders of dbt also for their models' tests.

    Each folder with a snowmelt.toml is a project of its own, whose names are no other's; all else is one library.
    """
    found: list[Finding] = []
    for files in _projects(source_files(paths)):
        found += map(_unfixable_python, lint_texts((str(path), _sql_text(path)) for path in files))
    for path in paths:
        if is_dbt(path):
            found += dbt_findings(path)
    return ordered(found)


def _sql_text(path: Path) -> str:
    text = read_text(path)
    return sql_of(text) if path.suffix == ".py" else text


def _unfixable_python(found: Finding) -> Finding:
    """Edits are of the SQL that was found in the file, not of the file."""
    return replace(found, edits=()) if found.file.endswith(".py") else found


def source_files(paths: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted([*path.rglob("*.sql"), *(file for file in path.rglob("*.py") if _home(file) is not None)])
            found += [file for file in inside if not _hidden(file.relative_to(path))]
        elif path.is_file():
            found.append(path)
        else:
            raise errors.configuration(f"There is no file or folder {path}.")
    return list(dict.fromkeys(found))


def _projects(files: Iterable[Path]) -> list[list[Path]]:
    found: dict[Path | None, list[Path]] = {}
    for file in files:
        found.setdefault(_home(file), []).append(file)
    return list(found.values())


def _home(file: Path) -> Path | None:
    """The project's folder."""
    return next((folder for folder in file.parents if (folder / FILE_NAME).is_file()), None)


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") or part in ("target", "dbt_packages", "node_modules") for part in path.parts)


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise errors.configuration(f"{path} can't be read: {getattr(error, 'strerror', None) or error}.") from None


# -- mending ----------------------------------------------------------------------------------------------------------


def fixes(findings: Iterable[Finding]) -> dict[str, list[Edit]]:
    """The edits by file, the last first, and none that overlaps another: a second run takes those that are left."""
    by_file: dict[str, list[Edit]] = {}
    for finding in findings:
        by_file.setdefault(finding.file, []).extend(finding.edits)
    return {file: _apart(edits) for file, edits in by_file.items() if edits}


def _apart(edits: Iterable[Edit]) -> list[Edit]:
    kept: list[Edit] = []
    for edit in sorted(set(edits), key=lambda item: (item.start, item.end)):
        if not kept or edit.start >= kept[-1].end:
            kept.append(edit)
    return kept[::-1]


def mended(text: str, edits: Iterable[Edit]) -> str:
    """`edits` are those of `fixes`."""
    for edit in edits:
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def fix_files(findings: Iterable[Finding]) -> Mapping[str, int]:
    """Writes the files anew; the number of edits by file."""
    done: dict[str, int] = {}
    for file, edits in fixes(findings).items():
        path = Path(file)
        path.write_text(mended(read_text(path), edits), encoding="utf-8")
        done[file] = len(edits)
    return done

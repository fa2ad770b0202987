"""`snowmelt lint`: files and folders in, findings out; and the edits that mend some of them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from snowmelt.core import errors
from snowmelt.core.config import FILE_NAME
from snowmelt.design.antipatterns.constants import constants
from snowmelt.design.antipatterns.dbt import dbt_findings, dbt_home, model_findings, plain_sql
from snowmelt.design.antipatterns.library import Library, library
from snowmelt.design.antipatterns.model import Edit, LintFinding, SarifLevel, Unread, known_antipatterns, ordered
from snowmelt.design.antipatterns.on_queries import query_findings
from snowmelt.design.antipatterns.on_statements import statement_findings
from snowmelt.design.antipatterns.python_code import moves_data, python_problems
from snowmelt.design.antipatterns.python_files import sql_of
from snowmelt.design.antipatterns.secrets import secret_lines


def lint_library(given: Library) -> list[LintFinding]:
    found: list[LintFinding] = []
    for item in given.items:
        for identifier, message, edits in (*query_findings(item, given), *statement_findings(item, given)):
            if identifier not in item.ignored:
                found.append(
                    LintFinding(known_antipatterns()[identifier], item.file, item.line, item.name, message, edits)
                )
    return ordered(found)


def lint_texts(files: Iterable[tuple[str, str]]) -> list[LintFinding]:
    return lint_library(library(files))


def lint_paths(paths: Sequence[Path]) -> list[LintFinding]:
    """Every .sql and .py file in or below the paths, dbt models as what they become, and secrets in any text.

    Each folder with a snowmelt.toml is a project of its own, whose names are no other's; all else is one library.
    """
    found: list[LintFinding] = []
    for files in _projects(source_files(paths)):
        found += map(
            _unfixable,
            _without_idioms(lint_texts((str(path), _sql_text(path)) for path in files if path.suffix in _CODE)),
        )
        found += [item for path in files for item in _beside_sql(path)]
    for home in sorted({home for path in paths for home in _dbt_projects(path)}):
        found += dbt_findings(home)
    return _once_a_line(found)


_CODE = (".sql", ".py")
_TEXTS = (".yml", ".yaml", ".toml", ".cfg", ".ini", ".env", ".json", ".sh", ".properties", ".conf", ".tf", ".ipynb")
"""Files that are looked at for secrets alone."""


def unread_in(paths: Sequence[Path]) -> list[Unread]:
    """Statements and files that could not be read: nothing is said of them."""
    found: list[Unread] = []
    for path in (path for path in source_files(paths) if path.suffix in _CODE):
        text = read_text(path)
        if path.suffix == ".py":
            if _tree(text) is None:
                found.append(Unread(str(path), 1, "this is not Python"))
        elif dbt_home(path) is not None and plain_sql(path.stem, text) is None:
            found.append(Unread(str(path), 1, "Jinja decides what this query is"))
        else:
            items = library([(str(path), _sql_text(path))]).items
            found += [
                Unread(item.file, item.line, "this statement is none that is known here")
                for item in items
                if item.statement is None and item.sql.text.strip()
            ]
    return found


def _dbt_projects(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from (file.parent for file in path.rglob("dbt_project.yml") if not _hidden(file.relative_to(path)))


def _beside_sql(path: Path) -> Iterator[LintFinding]:
    """What no statement shows: secrets, Python that moves data, and how a dbt model is configured."""
    text = read_text(path)
    for line, message in secret_lines(text) if not path.name.endswith(".example") else ():
        yield LintFinding(known_antipatterns()["PD-06"], str(path), line, path.name, message)
    tree = _tree(text) if path.suffix == ".py" and moves_data(text) else None
    if tree is not None:
        for identifier, line, name, message in python_problems(tree):
            yield LintFinding(known_antipatterns()[identifier], str(path), line, name, message)
        written_out = replace(known_antipatterns()["PD-06"], level=SarifLevel.WARNING)
        for line, message in constants(tree):
            yield LintFinding(written_out, str(path), line, path.name, message)
    if path.suffix == ".sql" and dbt_home(path) is not None:
        yield from model_findings(path, text)


def _without_idioms(found: Iterable[LintFinding]) -> Iterator[LintFinding]:
    """`select * from {{ source(…) }}` at the head of a staging model is how dbt has it written."""
    for item in found:
        staging = Path(item.file).stem.startswith(("stg_", "base_")) and dbt_home(Path(item.file)) is not None
        if not (staging and item.pattern.id == "PD-04"):
            yield item


def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except SyntaxError:
        return None


def _once_a_line(found: Iterable[LintFinding]) -> list[LintFinding]:
    """A secret that both the statement and its text give away is one finding, of the statement."""
    named = {
        (item.file, item.line) for item in found if item.pattern.id == "PD-06" and item.object != Path(item.file).name
    }
    files = {file for file, _ in named}
    kept = [item for item in found
            if item.pattern.id != "PD-06" or item.object != Path(item.file).name or item.file not in files]  # fmt: skip
    return ordered(kept)


def _sql_text(path: Path) -> str:
    text = read_text(path)
    if path.suffix == ".py":
        return sql_of(text) if _home(path) is not None else ""
    return (plain_sql(path.stem, text) or "") if dbt_home(path) is not None else text


def _unfixable(found: LintFinding) -> LintFinding:
    """Edits are of the SQL that was found in the file, not of the file."""
    foreign = found.file.endswith(".py") or dbt_home(Path(found.file)) is not None
    return replace(found, edits=()) if foreign else found


def source_files(paths: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*") if file.is_file() and _is_read(file))
            found += [file for file in inside if not _hidden(file.relative_to(path))]
        elif path.is_file():
            found.append(path)
        else:
            raise errors.configuration(f"There is no file or folder {path}.")
    return list(dict.fromkeys(found))


def _is_read(file: Path) -> bool:
    return file.suffix in (*_CODE, *_TEXTS) or file.name == ".env"


def _projects(files: Iterable[Path]) -> list[list[Path]]:
    found: dict[Path | None, list[Path]] = {}
    for file in files:
        found.setdefault(_home(file), []).append(file)
    return list(found.values())


def _home(file: Path) -> Path | None:
    """The project's folder."""
    return next((folder for folder in file.parents if (folder / FILE_NAME).is_file()), None)


def _hidden(path: Path) -> bool:
    skipped = ("target", "dbt_packages", "node_modules")
    return any((part.startswith(".") and part != ".env") or part in skipped for part in path.parts)


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise errors.configuration(f"{path} can't be read: {getattr(error, 'strerror', None) or error}.") from None


# -- mending ----------------------------------------------------------------------------------------------------------


def fixes(findings: Iterable[LintFinding]) -> dict[str, list[Edit]]:
    """The edits by file, the last one first. Of overlapping edits only one is given: a second run makes the others."""
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


def fix_files(findings: Iterable[LintFinding]) -> Mapping[str, int]:
    """Writes the files anew; the number of edits by file."""
    done: dict[str, int] = {}
    for file, edits in fixes(findings).items():
        path = Path(file)
        path.write_text(mended(read_text(path), edits), encoding="utf-8")
        done[file] = len(edits)
    return done

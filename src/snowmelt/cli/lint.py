"""`snowmelt lint`: SQL files, projects, designs and running accounts held to the anti-patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from snowmelt.cli.groups import SessionCommands
from snowmelt.cli.guarding import guarded
from snowmelt.cli.opening import open_session
from snowmelt.design.antipatterns.linting import fix_files, lint_paths, unread_in
from snowmelt.design.antipatterns.model import LintFinding, SarifLevel, known_antipatterns, ordered
from snowmelt.design.antipatterns.on_accounts import account_findings
from snowmelt.design.antipatterns.on_designs import design_findings
from snowmelt.design.antipatterns.reporting import to_json, to_sarif
from snowmelt.design.model import Design
from snowmelt.design.requirements.reading import read
from snowmelt.runtime.results import Executes

EXIT_FOUND = 1
_ROUNDS = 5
"""A fix may uncover the next one; more rounds than there are fixable patterns would be a mistake here."""
_ORDER = (SarifLevel.NOTE, SarifLevel.WARNING, SarifLevel.ERROR)


class LintFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


def lint_command(app: typer.Typer, sessions: SessionCommands) -> None:
    @app.command()
    def lint(
        paths: Annotated[list[Path] | None, typer.Argument(help="SQL files, folders, design.yaml.")] = None,
        fix: Annotated[bool, typer.Option("--fix", help="Fix what can be fixed, then check again.")] = False,
        form: Annotated[LintFormat, typer.Option("--format", help="text, json, or sarif for CI.")] = LintFormat.TEXT,
        output: Annotated[
            Path | None, typer.Option("--output", "-o", help="File to write to, instead of standard output.")
        ] = None,
        fail_on: Annotated[
            SarifLevel, typer.Option(help="Findings of this level or above make the exit code 1.")
        ] = SarifLevel.WARNING,
        select: Annotated[list[str] | None, typer.Option(help="Check only these ids, or families such as PD.")] = None,
        ignore: Annotated[list[str] | None, typer.Option(help="Leave these ids or families out.")] = None,
        data: Annotated[Path | None, typer.Option("--data", help="Look at the account in this directory.")] = None,
        url: Annotated[str | None, typer.Option("--url", help="Look at the account of a running server.")] = None,
    ) -> None:
        """Look for anti-patterns in SQL, designs, or a running account. The exit code is 1 when there are any."""
        if data is None and url is None and not paths:
            raise typer.BadParameter("Name files or folders, or an account with --data or --url.")
        for word in (*(select or ()), *(ignore or ())):
            if not any(identifier.startswith(word.upper()) for identifier in known_antipatterns()):
                raise typer.BadParameter(f"'{word}' is neither an id nor a family: see snowmelt design patterns.")

        def chosen(found: list[LintFinding]) -> list[LintFinding]:
            return [item for item in ordered(found) if _chosen(item, select or [], ignore or [])]

        def report(found: list[LintFinding]) -> int:
            skipped = unread_in([path for path in paths or [] if not _is_design(path)])
            for item in skipped:
                typer.echo(f"{item.file}:{item.line}: not read: {item.why}", err=True)
            _print(chosen(found), form, output, len(skipped))
            least = _ORDER.index(fail_on)
            return EXIT_FOUND if any(_ORDER.index(item.pattern.level) >= least for item in chosen(found)) else 0

        def files() -> list[LintFinding]:
            return _in_files(paths or [], chosen if fix else None)

        if data is not None or url is not None:
            sessions.run(data or Path(), url, lambda session: report(files() + account_findings(_asking(session))))
        raise typer.Exit(sessions.guarded(lambda: report(files())))


def _chosen(item: LintFinding, select: list[str], ignore: list[str]) -> bool:
    identifier = item.pattern.id
    wanted = not select or any(identifier.startswith(word.upper()) for word in select)
    return wanted and not any(identifier.startswith(word.upper()) for word in ignore)


def _in_files(paths: list[Path], to_fix: Callable[[list[LintFinding]], list[LintFinding]] | None) -> list[LintFinding]:
    """Fixes the chosen findings, and touches nothing else."""
    designs = [path for path in paths if _is_design(path)]
    rest = [path for path in paths if path not in designs]
    found = lint_paths(rest)
    for _ in range(_ROUNDS):
        if to_fix is None or not fix_files(to_fix(found)):
            break
        found = lint_paths(rest)
    for path in designs:
        found += design_findings(read(path, Design))
    return found


def _is_design(path: Path) -> bool:
    return path.suffix in (".yaml", ".yml")


def _asking(session: Executes) -> Any:
    def ask(statement: str) -> Sequence[Mapping[str, Any]]:
        result = session.execute(statement)
        names = [column.name for column in result.columns]
        return [dict(zip(names, row, strict=True)) for row in result.rows()]

    return ask


def _print(found: list[LintFinding], form: LintFormat, output: Path | None, unread: int) -> None:
    made = {LintFormat.JSON: to_json, LintFormat.SARIF: to_sarif}.get(form)
    text = made(found) if made is not None else _as_text(found, unread)
    if output is not None:
        output.write_text(text, encoding="utf-8")
    else:
        typer.echo(text, nl=False)


def _as_text(found: Iterable[LintFinding], unread: int) -> str:
    lines: list[str] = []
    levels = dict.fromkeys(reversed(_ORDER), 0)
    for item in found:
        levels[item.pattern.level] += 1
        location = item.location if item.line else item.file
        mark = " [--fix]" if item.edits else ""
        lines.append(f"{location}: {item.pattern.level} {item.pattern.id}: {item.object}: {item.message}{mark}")
        lines.append(f"    {item.pattern.remedy}")
    counts = ", ".join(f"{count} {level}s" for level, count in levels.items())
    where = f" in what could be read; {unread} could not" if unread else ""
    lines.append(f"{counts}{where}." if any(levels.values()) else f"No anti-pattern was found{where}.")
    return "\n".join(lines) + "\n"


def add_to(app: typer.Typer) -> None:
    """Adds the command to the program."""
    lint_command(app, SessionCommands(open_session, guarded))

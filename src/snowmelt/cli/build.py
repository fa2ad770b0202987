"""`snowmelt build`: a project from a design."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from snowmelt.cli.groups import Guard
from snowmelt.cli.guarding import guarded
from snowmelt.core import errors
from snowmelt.design.building.checking import check_project
from snowmelt.design.building.project import project_files
from snowmelt.design.building.writing import write_project
from snowmelt.design.model import Design
from snowmelt.design.requirements.reading import read

EXIT_DIFFERENT = 1


def build_command(app: typer.Typer, guarded: Guard) -> None:
    @app.command()
    def build(
        file: Annotated[Path, typer.Argument(help="A design.yaml, or the folder of a project that was built.")],
        output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder for the project.")] = None,
        check: Annotated[
            bool,
            typer.Option("--check", help="Write nothing; exit code 1 if a file differs from the design."),
        ] = False,
    ) -> None:
        """Write the project of a design. Built again, it keeps what somebody changed."""

        def work() -> int:
            design, folder = _paths(file, output)
            files = project_files(read(design, Design))
            return _checked(folder, files) if check else _written(folder, files)

        raise typer.Exit(guarded(work))


def _paths(file: Path, output: Path | None) -> tuple[Path, Path]:
    """The design, and the project's folder; a project has its design in it."""
    if file.is_dir():
        return file / "design.yaml", output or file
    if output is None:
        raise errors.configuration("Where should the project be?", hint="Name its folder with -o.")
    return file, output


def _checked(folder: Path, files: dict[str, str]) -> int:
    found = check_project(folder, files)
    for path in found.edited:
        typer.echo(f"edited: {path}")
    for problem in found.problems:
        typer.echo(problem)
    if found.problems:
        typer.echo(f"{folder}: {len(found.problems)} of {len(files)} files or sections differ from the design.")
        return EXIT_DIFFERENT
    typer.echo(f"{folder}: the specification and all files are what the design says.")
    return 0


def _written(folder: Path, files: dict[str, str]) -> int:
    done = write_project(folder, files)
    for line in done.lines():
        typer.echo(line)
    touched = len(done.changed) + len(done.merged) + len(done.conflicts) + len(done.removed)
    typer.echo(f"{folder}: {len(files)} files, {len(done.new)} new, {touched} changed")
    if done.clean:
        return 0
    typer.echo("Choose between the marks in the files with a conflict, and compare those with a .new beside them.")
    return EXIT_DIFFERENT


def add_to(app: typer.Typer) -> None:
    """Adds the command to the program."""
    build_command(app, guarded)

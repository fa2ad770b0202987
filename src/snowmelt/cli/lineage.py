"""`snowmelt lineage`: where a table or column comes from, or what depends on it."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from snowmelt.cli.consoles import output_console
from snowmelt.cli.groups import UrlOption
from snowmelt.cli.guarding import DATA, ConfigOption, DataOption, guarded, settings_of
from snowmelt.cli.opening import OpenedSession
from snowmelt.core.names import literal
from snowmelt.govern.lineage.flows import Influence
from snowmelt.govern.lineage.pictures import Arrow, Picture, mermaid, svg
from snowmelt.runtime.results import Result


class LineageFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    MERMAID = "mermaid"
    SVG = "svg"


def run_lineage(
    execute: Callable[[str], Result], console: Console, name: str, direction: str, distance: int | None,
    form: LineageFormat,
) -> int:  # fmt: skip
    found = _asked(execute, name, direction, distance)
    if form is LineageFormat.TABLE:
        _show(console, found)
    else:
        text = {
            LineageFormat.JSON: lambda: json.dumps(found, indent=2) + "\n",
            LineageFormat.MERMAID: lambda: mermaid(picture_of(found)),
            LineageFormat.SVG: lambda: svg(picture_of(found)),
        }[form]()
        console.file.write(text)
    return 0


def _asked(execute: Callable[[str], Result], name: str, direction: str, distance: int | None) -> dict[str, Any]:
    arguments = [literal(name), literal(direction), *([str(distance)] if distance is not None else [])]
    found: dict[str, Any] = json.loads(execute(f"SELECT SYSTEM$LINEAGE({', '.join(arguments)})").rows()[0][0])
    return found


def picture_of(found: dict[str, Any]) -> Picture:
    """The answer of SYSTEM$LINEAGE as boxes and arrows."""
    picture = Picture()
    picture.add_box(found["object"], found["domain"], found["column"], focus=True)
    for edge in found["edges"]:
        source, target = edge["source"], edge["target"]
        for end in (source, target):
            picture.add_box(end["object"], end["domain"], end["column"])
        ends = (source["object"], target["object"], source["column"], target["column"])
        picture.add_arrow(Arrow(*ends, label=_how(edge), dashed=_decides_rows(edge)))
    return picture


def _decides_rows(edge: dict[str, Any]) -> bool:
    return bool(edge["influences"]) and not any(Influence(word).direct for word in edge["influences"])


def _how(edge: dict[str, Any]) -> str:
    """How the data flows: for columns the kind of influence, for tables the process."""
    if edge["influences"]:
        return ", ".join(word.lower() for word in edge["influences"])
    return str(edge["process"]["type"]).lower().replace("_", " ")


def _show(console: Console, found: dict[str, Any]) -> None:
    start = found["object"] if found["column"] is None else f"{found['object']}.{found['column']}"
    if not found["edges"]:
        console.print(f"{start}: nothing {found['direction'].lower()}.")
        return
    table = Table("distance", "source", "target", "how", "by")
    for edge in found["edges"]:
        process = edge["process"]
        by = f"{process['type']} {process['name'] or process['query_id'] or ''}".strip()
        table.add_row(str(edge["distance"]), _end(edge["source"]), _end(edge["target"]), _how(edge), by)
    console.print(table)


def _end(end: dict[str, Any]) -> str:
    return str(end["object"]) if end["column"] is None else f"{end['object']}.{end['column']}"


def lineage(
    name: Annotated[str, typer.Argument(help="A table, view, stream or stage, or table.column.")],
    upstream: Annotated[bool, typer.Option("--upstream", help="What it is made from. The default.")] = False,
    downstream: Annotated[bool, typer.Option("--downstream", help="What depends on it.")] = False,
    distance: Annotated[int | None, typer.Option(min=1, help="How many steps to follow; all if not given.")] = None,
    form: Annotated[
        LineageFormat, typer.Option("--format", help="table, json, or a picture: mermaid, svg.")
    ] = LineageFormat.TABLE,
    data: DataOption = DATA,
    url: UrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Show where a table or a column comes from, or what would be hit if it changed."""
    if upstream and downstream:
        raise typer.BadParameter("--upstream and --downstream can't be combined: give one of them.")

    def work() -> int:
        with OpenedSession(data, url, settings_of(data, config)) as session:
            direction = "DOWNSTREAM" if downstream else "UPSTREAM"
            return run_lineage(session.execute, output_console(), name, direction, distance, form)

    raise typer.Exit(guarded(work))


def add_to(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command()(lineage)

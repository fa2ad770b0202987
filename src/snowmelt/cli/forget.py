"""`snowmelt forget`: where a person is found, removing all of it, and the proof."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from snowmelt.cli.consoles import output_console
from snowmelt.cli.forget_destinations import Destinations
from snowmelt.cli.groups import UrlOption
from snowmelt.cli.guarding import DATA, ConfigOption, DataOption, guarded, settings_of
from snowmelt.cli.opening import OpenedSession
from snowmelt.core import errors
from snowmelt.govern.erasure.model import LocationKind
from snowmelt.runtime.results import Result

EXIT_LEFT = 1
Execute = Callable[[str], Result]


def request_of(people: list[str], values: list[str], rows: list[str], keep: list[str], reason: str) -> dict[str, Any]:
    """What the options say, as the request that SQL takes."""
    columns: dict[str, list[str]] = {}
    for text in people:
        name, value = _pair(text, "TABLE.COLUMN=VALUE")
        columns.setdefault(name, []).append(value)
    return {
        "columns": columns, "values": values, "conditions": dict(_pair(text, "TABLE=CONDITION") for text in rows),
        "keep": dict(_pair(text, "TABLE=REASON") for text in keep), "reason": reason,
    }  # fmt: skip


def _pair(text: str, form: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name.strip() or not value.strip():
        # The text itself is not repeated: it names a person.
        raise errors.configuration(f"An argument of {len(text)} characters is not of the form {form}.")
    return name.strip(), value.strip()


def call(execute: Execute, function: str, *arguments: str) -> Any:
    given = ", ".join("'" + each.replace("\\", "\\\\").replace("'", "''") + "'" for each in arguments)
    return json.loads(execute(f"CALL {function}({given})").rows()[0][0])


def run_forget(
    execute: Execute, console: Console, request: dict[str, Any], destinations: Destinations | None, *, confirm: bool
) -> int:
    """Without `confirm` nothing is changed. 1 when something is left that a person has to see to."""
    outside = destinations.of(lambda table, key: _keys(execute, request, table, key)) if destinations else []
    if not confirm:
        answer = call(execute, "SYSTEM$FIND_PERSON", json.dumps(request))
        _show(console, [*answer["found"], *(each.found() for each in outside)], answer["searched"])
        console.print("Nothing was changed. --confirm removes what is listed.")
        return 0
    before = [each.found(remove=True) for each in outside]
    if destinations is not None:
        request = {**request, "conditions": {**request["conditions"], **destinations.notes(execute, outside)}}
    answer = call(execute, "SYSTEM$FORGET_PERSON", json.dumps(request))
    _show(console, [*answer["found"], *before], {})
    left = [*answer["left"], *(found for each in outside if (found := each.found())["rows"] or each.out_of_reach)]
    return _tell(console, answer, left)


def _keys(execute: Execute, request: dict[str, Any], table: str, key: list[str]) -> list[list[str | None]]:
    found: list[list[str | None]] = call(execute, "SYSTEM$FIND_PERSON", json.dumps(request), table, json.dumps(key))
    return found


def _tell(console: Console, answer: dict[str, Any], left: list[dict[str, Any]]) -> int:
    console.print(f"Request {answer['id']}: searched {_counts(answer['searched'])} again.")
    open_ = [each for each in left if each["name"] not in answer["kept"]]
    for each in left:
        kept = answer["kept"].get(each["name"])
        console.print(
            f"  left: {each['location']} {each['name']}: {f'kept: {kept}' if kept else each['how']}", markup=False
        )
    if open_ or answer["state"] != "DONE":
        console.print(
            "The request is not finished. Remove what is listed as left, then run `snowmelt forget --resume`."
        )
        return EXIT_LEFT
    console.print("Nothing of the person is found any more.")
    return 0


def _counts(searched: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in searched.items())


def _show(console: Console, found: list[dict[str, Any]], searched: dict[str, int]) -> None:
    if not found:
        console.print(f"Nothing of the person is found in {_counts(searched)}.")
        return
    table = Table("location", "name", "found", "mentions", "how", "then", box=SIMPLE_HEAD, pad_edge=False)
    for each in found:
        then = each["action"] or "for a person to see to"
        table.add_row(
            each["location"], each["name"], f"{each['rows']:,}", str(each["mentions"] or ""), each["how"], then
        )
    console.print(table, markup=False)


def _show_records(console: Console, records: list[dict[str, Any]]) -> int:
    for each in records:
        done = each["done_at"] or ""
        console.print(
            f"{each['id']}  {each['state']}  asked {each['asked_at']} by {each['asked_by']}  {done}  {each['reason']}"
        )
        for left in each["left"]:
            console.print(f"  left: {LocationKind(left['location'])} {left['name']}: {left['how']}", markup=False)
    return int(any(each["state"] != "DONE" for each in records))


def forget(
    people: Annotated[list[str] | None, typer.Argument(help="TABLE.COLUMN=VALUE: what names the person.")] = None,
    value: Annotated[
        list[str] | None, typer.Option(help="A value that names the person, searched for in all columns.")
    ] = None,
    rows: Annotated[list[str] | None, typer.Option(help="TABLE=CONDITION: further rows of the person.")] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="TABLE=REASON: a table whose rows must be kept by law.")
    ] = None,
    reason: Annotated[str, typer.Option(help="Why the person is forgotten; kept in the record.")] = "",
    project: Annotated[Path | None, typer.Option(help="A built project: its destinations are searched, too.")] = None,
    confirm: Annotated[bool, typer.Option("--confirm", help="Remove what is found.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with requests that are not done.")] = False,
    show: Annotated[bool, typer.Option("--list", help="Show the records of all requests.")] = False,
    data: DataOption = DATA,
    url: UrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Forget a person: show where they are found; with --confirm remove it all, and prove it."""

    def work() -> int:
        console = output_console()
        with OpenedSession(data, url, settings_of(data, config)) as session:
            if show:
                return _show_records(console, json.loads(session.execute("SELECT SYSTEM$ERASURES()").rows()[0][0]))
            if resume:
                return _show_records(console, call(session.execute, "SYSTEM$RESUME_ERASURES"))
            request = request_of(people or [], value or [], rows or [], keep or [], reason)
            destinations = Destinations(project) if project is not None else None
            return run_forget(session.execute, console, request, destinations, confirm=confirm)

    raise typer.Exit(guarded(work))


def add_to(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command()(forget)

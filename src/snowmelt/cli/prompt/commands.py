"""Commands of the prompt itself: `!name …`, or `\\name …` as others have it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from snowmelt.cli.output import Format
from snowmelt.core import errors
from snowmelt.core.names import literal
from snowmelt.runtime.results import Result

_RUNNING = """
SELECT query_id, user_name, warehouse_name, execution_status, total_elapsed_time AS milliseconds, query_text
FROM TABLE(INFORMATION_SCHEMA.QUERY_HISTORY(RESULT_LIMIT => 100)) WHERE execution_status IN ('RUNNING', 'QUEUED')
""".strip()


_NOTHING = (None, "", "N", "COLUMN")
"""What cells of SHOW and DESCRIBE have that say nothing."""
_ABOUT = """
Statements end with ';'. Enter begins a new line until the statement has ended.
Tab completes, Ctrl-R searches what was typed before, Ctrl-C stops the statement that runs.
Commands of the prompt start with ! or \\:

""".lstrip()


@dataclass(slots=True)
class ShellSettings:
    """What `!set` changes."""

    form: Format
    rows: int | None
    """How many rows are shown at most; None for all."""
    timing: bool = True
    pager: bool = True


class Prompt(Protocol):
    """What a command may do."""

    settings: ShellSettings

    def say(self, text: str) -> None: ...

    def run_sql(self, text: str, shown: Callable[[Result], Result] = ...) -> None: ...

    def past(self) -> list[str]: ...


class LeaveError(Exception):
    """Somebody wants to leave the prompt."""


@dataclass(frozen=True, slots=True)
class ShellCommand:
    names: tuple[str, ...]
    takes: str
    help: str
    execute: Callable[[Prompt, str], None]


def execute_command(prompt: Prompt, text: str) -> None:
    """Runs `!name rest`. Raises `LeaveError` for the ones that end the prompt."""
    name, _, rest = text.strip().rstrip(";").lstrip("!\\").strip().partition(" ")
    found = next((command for command in COMMANDS if name.lower() in command.names), None)
    if found is None:
        raise errors.configuration(f"The prompt has no command {name}.", hint="Type help to see what it has.")
    rest = rest.strip()
    if found.takes.isupper() and not rest:
        raise errors.configuration(
            f"!{name} needs a {found.takes.lower()}.", hint=f"!{name} {found.takes}: {found.help}"
        )
    found.execute(prompt, rest)


def telling(result: Result) -> Result:
    """The columns that say something: not those that are empty, or N, in every row. The first one always stays."""
    rows = result.rows()
    kept = [
        index for index, column in enumerate(result.columns)
        if index == 0 or column.name == "type" or any(row[index] not in _NOTHING for row in rows)
    ]  # fmt: skip
    columns = tuple(result.columns[index] for index in kept)
    return replace(result, columns=columns, data=result.data.select(kept), spilled=None) if rows else result


def _help(prompt: Prompt, _: str) -> None:
    spelled = [(f"!{command.names[0]} {command.takes}".rstrip(), command) for command in COMMANDS]
    width = max(len(text) for text, _ in spelled)
    lines = _ABOUT.splitlines()
    for text, command in spelled:
        also = ", ".join("\\" + name for name in command.names[1:])
        lines.append(f"  {text.ljust(width)}  {command.help}{f' Also: {also}.' if also else ''}")
    prompt.say("\n".join(lines))


def _leave(_: Prompt, __: str) -> None:
    raise LeaveError


def _describe(prompt: Prompt, name: str) -> None:
    prompt.run_sql(f"DESCRIBE TABLE {name}" if name else "SHOW OBJECTS", telling)


def _source(prompt: Prompt, name: str) -> None:
    try:
        text = Path(name).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise errors.configuration(f"{name} can't be read: {getattr(error, 'strerror', None) or error}.") from None
    prompt.run_sql(text)


def _toggle_vertical(prompt: Prompt, _: str) -> None:
    form = Format.TABLE if prompt.settings.form is Format.VERTICAL else Format.VERTICAL
    _set(prompt, f"format={form.value}")


def _history(prompt: Prompt, count: str) -> None:
    past = prompt.past()
    prompt.say("\n".join(past[-int(count) :] if count.isdecimal() and int(count) else past[-20:]))


def _set(prompt: Prompt, text: str) -> None:
    settings = prompt.settings
    name, equals, value = (part.strip().lower() for part in text.partition("="))
    if equals:
        _change(settings, name, value)
    rows = "all" if settings.rows is None else f"{settings.rows}"
    on = {True: "on", False: "off"}
    prompt.say(f"format={settings.form.value} rows={rows} timing={on[settings.timing]} pager={on[settings.pager]}")


def _change(settings: ShellSettings, name: str, value: str) -> None:
    switches = {"on": True, "true": True, "off": False, "false": False}
    if name == "format" and value in list(Format):
        settings.form = Format(value)
    elif name == "rows" and (value == "all" or value.isdecimal()):
        settings.rows = None if value == "all" else int(value)
    elif name in ("timing", "pager") and value in switches:
        setattr(settings, name, switches[value])
    else:
        forms = "|".join(Format)
        raise errors.configuration(
            f"!set does not know {name}={value}.",
            hint=f"!set takes format={forms}, rows=NUMBER|all, timing=on|off, pager=on|off.",
        )


COMMANDS: tuple[ShellCommand, ...] = (
    ShellCommand(("help", "?", "h"), "", "Shows this list.", _help),
    ShellCommand(("quit", "q", "exit"), "", "Leaves the prompt, as Ctrl-D does.", _leave),
    ShellCommand(("describe", "d"), "name", "Shows a table's columns, or what the schema has.", _describe),
    ShellCommand(("vertical", "x"), "", "Shows each value on a line of its own, or stops doing so.", _toggle_vertical),
    ShellCommand(("set",), "name=value", "Changes format, rows, timing or pager; alone it shows them.", _set),
    ShellCommand(("source", "i", "load"), "FILE", "Runs the statements of a file.", _source),
    ShellCommand(("history", "s"), "count", "Shows what was typed last.", _history),
    ShellCommand(("queries",), "", "Shows the statements that run now.", lambda prompt, _: prompt.run_sql(_RUNNING)),
    ShellCommand(
        ("abort",), "QUERY_ID", "Stops a statement that runs.",
        lambda prompt, name: prompt.run_sql(f"SELECT SYSTEM$CANCEL_QUERY({literal(name)})"),
    ),
    ShellCommand(
        ("result",), "QUERY_ID", "Shows the result of an earlier query again.",
        lambda prompt, name: prompt.run_sql(f"SELECT * FROM TABLE(RESULT_SCAN({literal(name)}))"),
    ),
)  # fmt: skip

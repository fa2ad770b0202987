"""`snowmelt contract …`: files of contracts, and the contracts of an account."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from snowmelt.cli.groups import DataOption, FormatOption, Guard, Opener, SessionCommands, UrlOption
from snowmelt.cli.guarding import DATA, guarded
from snowmelt.cli.opening import open_session
from snowmelt.cli.output import Format
from snowmelt.core import errors
from snowmelt.core.names import literal, quote, split_name
from snowmelt.core.types import parse_type
from snowmelt.features.contracts import errors as contract_errors
from snowmelt.govern.contracts import making
from snowmelt.govern.contracts.compatibility import breaks, compare
from snowmelt.govern.contracts.conformance import breaches
from snowmelt.govern.contracts.data_checks import counting_query, data_checks
from snowmelt.govern.contracts.exporting import ExportTarget, export
from snowmelt.govern.contracts.linting import LintSeverity
from snowmelt.govern.contracts.model import Compatibility, Contract, TableColumn
from snowmelt.govern.contracts.reading import examine, folded, read
from snowmelt.govern.contracts.versions import parse_version
from snowmelt.runtime.results import Executes

EXIT_BROKEN = 1


FileArgument = Annotated[Path, typer.Argument(help="A contract in the Open Data Contract Standard.")]
NameArgument = Annotated[str, typer.Argument(help="The contract: NAME, SCHEMA.NAME or DATABASE.SCHEMA.NAME.")]
OutputOption = Annotated[Path | None, typer.Option("-o", "--output", help="File to write instead of printing.")]


def contract_commands(opened: Opener, guarded: Guard) -> typer.Typer:
    """The group of commands; what opens a session and what reports errors is the caller's."""
    group = typer.Typer(no_args_is_help=True, help="Data contracts: lint, test, diff, apply, export.")
    _file_commands(group, guarded)
    _account_commands(group, SessionCommands(opened, guarded))
    return group


def _file_commands(group: typer.Typer, guarded: Guard) -> None:
    """What needs no account."""

    @group.command()
    def lint(files: Annotated[list[Path], typer.Argument(help="Contracts.")]) -> None:
        """Hold contracts to the standard and to what can be enforced. The exit code is 1 when one has an error."""
        raise typer.Exit(guarded(lambda: max(_lint(file) for file in files)))

    @group.command()
    def diff(
        old: FileArgument,
        new: FileArgument,
        mode: Annotated[
            Compatibility | None,
            typer.Option(help="Compatibility to judge by; the contract's own if not given.", case_sensitive=False),
        ] = None,
        form: FormatOption = Format.TABLE,
    ) -> None:
        """Show what changes between two versions, and which number the new one needs. 1 when it has a smaller one."""
        raise typer.Exit(guarded(lambda: _diff(_read(old), _read(new), mode, form)))

    @group.command(name="export")
    def export_(
        file: FileArgument,
        to: Annotated[ExportTarget, typer.Option(help="The format to write.")],
        output: OutputOption = None,
    ) -> None:
        """Write a contract as Avro schema, JSON Schema, dbt YAML or SQL."""
        raise typer.Exit(guarded(lambda: _write(export(_read(file), to), output)))

    @group.command(name="import")
    def import_(
        file: Annotated[Path, typer.Argument(help="An Avro schema (.avsc).")], output: OutputOption = None
    ) -> None:
        """Make a contract from an Avro schema."""
        raise typer.Exit(guarded(lambda: _write(_from_avro(file), output)))


def _account_commands(group: typer.Typer, sessions: SessionCommands) -> None:
    """What asks or changes an account."""

    run, show = sessions.run, sessions.show

    @group.command()
    def create(
        table: Annotated[str, typer.Option(help="The table or view to make it from.")],
        output: OutputOption = None,
        data: DataOption = DATA,
        url: UrlOption = None,
    ) -> None:
        """Make a contract that a table satisfies as it is."""
        run(data, url, lambda session: _write(_from_table(session, table), output))

    @group.command()
    def test(
        file: FileArgument,
        table: Annotated[str, typer.Option(help="The table or view.")],
        rows: Annotated[bool, typer.Option("--rows/--no-rows", help="Look at the rows too.")] = True,
        data: DataOption = DATA,
        url: UrlOption = None,
    ) -> None:
        """Test a table against a contract: its columns, and its rows. The exit code is 1 when it breaks it."""
        run(data, url, lambda session: _test(session, _read(file), table, rows=rows))

    @group.command()
    def apply(
        file: FileArgument,
        name: Annotated[str | None, typer.Option(help="Name in the account; the document's name if not given.")] = None,
        attach: Annotated[list[str] | None, typer.Option(help="A table to attach it to.")] = None,
        data: DataOption = DATA,
        url: UrlOption = None,
    ) -> None:
        """Bring a contract into the account: create it, or add the version. Applying the same again does nothing."""
        run(data, url, lambda session: _apply(session, _read(file), name, attach or []))

    @group.command(name="list")
    def list_(data: DataOption = DATA, url: UrlOption = None, form: FormatOption = Format.TABLE) -> None:
        """List all contracts of the account."""
        show(data, url, "SHOW CONTRACTS IN ACCOUNT", form)

    @group.command()
    def check(
        name: NameArgument, data: DataOption = DATA, url: UrlOption = None, form: FormatOption = Format.TABLE
    ) -> None:
        """Show which version the tables satisfy that a contract is attached to."""
        show(data, url, f"ALTER CONTRACT {name} CHECK", form)

    @group.command()
    def consumer(
        name: NameArgument,
        who: Annotated[str, typer.Argument(help="Name of the consumer.")],
        contact: Annotated[str | None, typer.Option(help="How to reach the consumer.")] = None,
        version: Annotated[int | None, typer.Option(help="The major version that the consumer uses.")] = None,
        column: Annotated[
            list[str] | None, typer.Option(help="A column that the consumer uses; all columns if none is given.")
        ] = None,
        drop: Annotated[bool, typer.Option("--drop", help="Remove the consumer.")] = False,
        data: DataOption = DATA,
        url: UrlOption = None,
    ) -> None:
        """Register somebody who builds on a contract, or take them off."""
        options = [f"CONTACT = {literal(contact)}"] if contact is not None else []
        options += [f"VERSION = {version}"] if version is not None else []
        options += [f"COLUMNS = ({', '.join(map(literal, column))})"] if column else []
        change = "DROP CONSUMER" if drop else "ADD CONSUMER"
        show(data, url, f"ALTER CONTRACT {name} {change} {_identifier(who)} {' '.join(options)}")


# -- files -------------------------------------------------------------------------------------------------------------


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise errors.configuration(f"{file} can't be read: {getattr(error, 'strerror', None) or error}.") from None


def _read(file: Path) -> Contract:
    return read(_text(file))


def _write(text: str, output: Path | None) -> int:
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
    return 0


def _lint(file: Path) -> int:
    found = examine(_text(file))
    for item in found.findings:
        typer.echo(f"{file}: {item.severity}: {item.path}: {item.message}")
    warnings = sum(item.severity is LintSeverity.WARNING for item in found.findings)
    typer.echo(f"{file}: {len(found.errors)} errors, {warnings} warnings")
    return EXIT_BROKEN if found.errors else 0


def _diff(old: Contract, new: Contract, mode: Compatibility | None, form: Format) -> int:
    verdict = compare(old, new, mode or new.compatibility or old.compatibility or Compatibility.BACKWARD)
    rows = [(change, breaks(change.kind, verdict.mode)) for change in verdict.changes]
    if form is Format.JSON:
        found: dict[str, Any] = {
            "mode": verdict.mode, "old": str(verdict.old), "new": str(verdict.new), "least": str(verdict.least),
            "allowed": verdict.allowed,
            "changes": [
                {"kind": change.kind, "table": change.table, "column": change.column, "old": change.old,
                 "new": change.new, "breaking": breaking}
                for change, breaking in rows
            ],
        }  # fmt: skip
        typer.echo(json.dumps(found, indent=2))
    else:
        for change, breaking in rows:
            typer.echo(f"{'BREAKING ' if breaking else '         '}{change}")
        typer.echo(
            f"{len(rows)} changes, {len(verdict.breaking)} breaking under {verdict.mode}: {verdict.old} -> "
            f"{verdict.new}, at least {verdict.least} is needed"
        )
    return 0 if verdict.allowed else EXIT_BROKEN


def _from_avro(file: Path) -> str:
    try:
        schema = json.loads(_text(file))
    except json.JSONDecodeError as error:
        raise errors.invalid_contract([f"{file} is not JSON: {error}"]) from None
    return making.text_of(making.from_avro(schema if isinstance(schema, dict) else {}))


# -- the account -------------------------------------------------------------------------------------------------------


def _from_table(session: Executes, table: str) -> str:
    columns, key = _described(session, table)
    return making.text_of(making.from_table(table, columns, key=key))


def _described(session: Executes, table: str) -> tuple[list[TableColumn], list[str]]:
    """The columns of a table or view, and those of its primary key."""
    result = session.execute(f"DESCRIBE TABLE {table}")
    indexes = {column.name: index for index, column in enumerate(result.columns)}
    columns: list[TableColumn] = []
    key: list[str] = []
    for row in result.rows():
        name, type_ = row[indexes["name"]], parse_type(row[indexes["type"]])
        assert type_ is not None, "DESCRIBE prints types that DDL takes"
        columns.append(TableColumn(name, type_, row[indexes["null?"]] == "Y", row[indexes["comment"]]))
        if row[indexes["primary key"]] == "Y":
            key.append(name)
    return columns, key


def _test(session: Executes, contract: Contract, table: str, *, rows: bool) -> int:
    columns, _ = _described(session, table)
    described = contract.table(folded(table))
    if described is None:
        raise contract_errors.contract_version(f"The contract describes no table '{table}'.")
    problems = [str(breach) for breach in breaches(contract, described, columns)]
    present = {column.name for column in columns}
    checks = [check for check in data_checks(described) if check.column in present] if rows else []
    if checks:
        total, *counts = session.execute(counting_query(table, checks)).rows()[0]
        problems += [
            f"column {check.column} is not {check.rule} in {count} of {total} rows"
            for check, count in zip(checks, counts, strict=True)
            if count
        ]
    for problem in problems:
        typer.echo(problem)
    typer.echo(f"{table}: {len(problems)} breaches of {contract.name} {contract.version}")
    return EXIT_BROKEN if problems else 0


def _apply(session: Executes, contract: Contract, name: str | None, tables: list[str]) -> int:
    called = name or _identifier(contract.name)
    known = _versions(session, called)
    if known is None:
        _execute(session, f"CREATE CONTRACT {called} AS {literal(contract.text)}")
    elif known.get(str(contract.version)) != contract.text:
        _execute(session, f"ALTER CONTRACT {called} ADD VERSION AS {literal(contract.text)}")
    else:
        typer.echo(f"Version {contract.version} of {called} is there already.")
    for table in tables:
        _attach(session, table, f"SET CONTRACT = {called} CONTRACT_VERSION = {contract.version.major}")
    return 0


def _attach(session: Executes, name: str, change: str) -> None:
    """To a table of any kind, or a view."""
    try:
        _execute(session, f"ALTER TABLE {name} {change}")
    except errors.SnowmeltError as error:
        if error.code != errors.wrong_kind("VIEW", "TABLE").code:
            raise
        _execute(session, f"ALTER VIEW {name} {change}")


def _versions(session: Executes, name: str) -> dict[str, str] | None:
    """The documents of a contract by their normal version; None when there is no such contract."""
    try:
        result = session.execute(f"DESCRIBE CONTRACT {name}")
    except errors.SnowmeltError as error:
        if error.code == errors.not_found("Contract", name).code:
            return None
        raise
    indexes = {column.name: index for index, column in enumerate(result.columns)}
    found = ((row[indexes["version"]], row[indexes["document"]]) for row in result.rows())
    return {str(parse_version(version)): text for version, text in found}


def _execute(session: Executes, statement: str) -> None:
    typer.echo(str(session.execute(statement).rows()[0][0]))


def _identifier(name: str) -> str:
    """A name as SQL takes it: as it is where it is one, quoted where not."""
    return name if split_name(name) is not None else quote(name)


def add_to(app: typer.Typer) -> None:
    """Adds the group of commands to the program."""
    app.add_typer(contract_commands(open_session, guarded), name="contract")

"""`snowmelt connector …`: the statements of connectors for people at a terminal."""

from __future__ import annotations

from typing import Annotated

import typer

from snowmelt.cli.consoles import output_console
from snowmelt.cli.groups import DataOption, FormatOption, Guard, Opener, SessionCommands, UrlOption
from snowmelt.cli.guarding import DATA, guarded
from snowmelt.cli.opening import open_session
from snowmelt.cli.output import Format, write_result
from snowmelt.core.names import literal
from snowmelt.runtime.results import Executes

EXIT_LACKING = 1


NameArgument = Annotated[str, typer.Argument(help="The connector: NAME, SCHEMA.NAME or DATABASE.SCHEMA.NAME.")]


def connector_commands(opened: Opener, guarded: Guard) -> typer.Typer:
    """The group of commands; what opens a session and what reports errors is the caller's."""
    group = typer.Typer(no_args_is_help=True, help="Capture the changes of a database.")

    sessions = SessionCommands(opened, guarded)
    run = sessions.show

    @group.command()
    def create(
        name: NameArgument,
        host: Annotated[str, typer.Option(help="The database server.")],
        database: Annotated[str, typer.Option(help="The database to capture.")],
        user: Annotated[str, typer.Option(help="The user that reads it.")],
        table: Annotated[list[str], typer.Option(help="schema.table; give it once for each table.")],
        kind: Annotated[str, typer.Option("--type", help="postgres, mariadb or mysql.")] = "postgres",
        port: Annotated[int | None, typer.Option(help="The server's port, if it is not the usual one.")] = None,
        password_env: Annotated[str | None, typer.Option(help="Environment variable with the password.")] = None,
        secret_file: Annotated[str | None, typer.Option(help="File with the password.")] = None,
        slot: Annotated[str | None, typer.Option(help="Replication slot; made when it is missing.")] = None,
        publication: Annotated[str | None, typer.Option(help="Publication; made when it is missing.")] = None,
        snapshot_mode: Annotated[str, typer.Option(help="initial, initial_only, no_data, when_needed.")] = "initial",
        target: Annotated[str, typer.Option(help="raw: a table of all changes; mirror: copies of the tables.")] = "raw",
        raw_table: Annotated[str | None, typer.Option(help="Table for the changes, with --target raw.")] = None,
        mirror_schema: Annotated[str | None, typer.Option(help="Schema for the copies, with --target mirror.")] = None,
        deletes: Annotated[
            str | None, typer.Option(help="What a delete does to a mirror: hard removes the row, soft marks it.")
        ] = None,
        bootstrap_servers: Annotated[
            str | None, typer.Option(help="Kafka brokers, if Debezium runs in Kafka Connect; else it is embedded.")
        ] = None,
        topic_prefix: Annotated[str | None, typer.Option(help="Topics are called prefix.schema.table.")] = None,
        paused: Annotated[bool, typer.Option("--paused", help="Create the connector, but do not start it.")] = False,
        data: DataOption = DATA,
        url: UrlOption = None,
    ) -> None:
        """Create a connector."""
        texts = {
            "HOST": host, "DATABASE": database, "USER": user, "PASSWORD_ENV": password_env, "SECRET_FILE": secret_file,
            "SLOT": slot, "PUBLICATION": publication, "SNAPSHOT_MODE": snapshot_mode, "TARGET": target,
            "DELETES": deletes, "ROUTE": "kafka" if bootstrap_servers is not None else None,
            "BOOTSTRAP_SERVERS": bootstrap_servers, "TOPIC_PREFIX": topic_prefix,
        }  # fmt: skip
        options = [f"{option} = {literal(value)}" for option, value in texts.items() if value is not None]
        options += [f"PORT = {port}"] if port is not None else []
        options.append(f"TABLES = ({', '.join(literal(item) for item in table)})")
        names = {"RAW_TABLE": raw_table, "MIRROR_SCHEMA": mirror_schema}
        options += [f"{option} = {value}" for option, value in names.items() if value is not None]
        options += ["INITIALLY_PAUSED = TRUE"] if paused else []
        run(data, url, f"CREATE CONNECTOR {name} TYPE = {literal(kind)} {' '.join(options)}")

    @group.command(name="list")
    def show(data: DataOption = DATA, url: UrlOption = None, form: FormatOption = Format.TABLE) -> None:
        """List all connectors of the account."""
        run(data, url, "SHOW CONNECTORS IN ACCOUNT", form)

    @group.command()
    def status(
        name: NameArgument, data: DataOption = DATA, url: UrlOption = None, form: FormatOption = Format.TABLE
    ) -> None:
        """Show where a connector stands, how far it is and what is wrong."""
        run(data, url, f"DESCRIBE CONNECTOR {name}", form)

    @group.command()
    def pause(name: NameArgument, data: DataOption = DATA, url: UrlOption = None) -> None:
        """Stop capturing; the source keeps what comes meanwhile."""
        run(data, url, f"ALTER CONNECTOR {name} PAUSE")

    @group.command()
    def resume(name: NameArgument, data: DataOption = DATA, url: UrlOption = None) -> None:
        """Go on, also after a failure."""
        run(data, url, f"ALTER CONNECTOR {name} RESUME")

    @group.command()
    def snapshot(
        name: NameArgument,
        table: Annotated[list[str] | None, typer.Option(help="schema.table; all tables if none is given.")] = None,
        data: DataOption = DATA,
        url: UrlOption = None,
    ) -> None:
        """Read tables anew while their changes go on."""
        tables = f" TABLES ({', '.join(literal(item) for item in table)})" if table else ""
        run(data, url, f"ALTER CONNECTOR {name} SNAPSHOT{tables}")

    @group.command()
    def drop(name: NameArgument, data: DataOption = DATA, url: UrlOption = None) -> None:
        """Drop a connector; its tables stay, and so does the slot in the source."""
        run(data, url, f"DROP CONNECTOR {name}")

    @group.command()
    def config(name: NameArgument, data: DataOption = DATA, url: UrlOption = None) -> None:
        """Print what Kafka Connect has to be told (POST /connectors), so that the connector's topics are filled."""

        def work() -> int:
            with opened(data, url) as session:
                typer.echo(session.execute(f"ALTER CONNECTOR {name} CONFIG").rows()[0][0])
            return 0

        raise typer.Exit(guarded(work))

    @group.command()
    def check(
        name: NameArgument, data: DataOption = DATA, url: UrlOption = None, form: FormatOption = Format.TABLE
    ) -> None:
        """Ask the source what it lacks, with the SQL that mends it. The exit code is 1 when something is missing."""

        def work(session: Executes) -> int:
            result = session.execute(f"ALTER CONNECTOR {name} CHECK")
            write_result(result, form, output_console(soft_wrap=form.is_for_programs))
            return EXIT_LACKING if any(row[1] == "MISSING" for row in result.rows()) else 0

        sessions.run(data, url, work)

    return group


def add_to(app: typer.Typer) -> None:
    """Adds the group of commands to the program."""
    app.add_typer(connector_commands(open_session, guarded), name="connector")

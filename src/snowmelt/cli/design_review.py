"""`snowmelt design review`: what an expert would say of a pipeline that is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from snowmelt.cli.groups import Guard
from snowmelt.cli.opening import open_session
from snowmelt.design.antipatterns.model import SarifLevel
from snowmelt.design.antipatterns.on_accounts import account_findings, definitions_of
from snowmelt.design.reviewing import Review, review, review_texts

EXIT_FOUND = 1


def add_review(group: typer.Typer, guarded: Guard) -> None:
    @group.command(name="review")
    def review_(
        paths: Annotated[list[Path] | None, typer.Argument(help="A pipeline: SQL, dbt, Python.")] = None,
        data: Annotated[Path | None, typer.Option("--data", help="The account in this directory.")] = None,
        url: Annotated[str | None, typer.Option("--url", help="The account of a running server.")] = None,
        patch: Annotated[Path | None, typer.Option("--patch", help="File for the changes (git apply).")] = None,
    ) -> None:  # fmt: skip
        """Say what an expert would of an existing pipeline: mode, gaps, anti-patterns, cost, and a patch."""
        if not paths and data is None and url is None:
            raise typer.BadParameter("Name files or folders, or an account with --data or --url.")

        def work() -> int:
            made = review(paths) if paths else _of_account(data or Path(), url)
            typer.echo("\n".join(_lines(made)))
            if patch is not None:
                patch.write_text(made.patch, encoding="utf-8")
            elif made.patch:
                typer.echo(f"\nChanges that need no decision (--patch FILE writes them):\n{made.patch}", nl=False)
            return EXIT_FOUND if any(item.pattern.level is SarifLevel.ERROR for item in made.findings) else 0

        raise typer.Exit(guarded(work))


def _of_account(data: Path, url: str | None) -> Review:
    with open_session(data, url) as session:

        def ask(statement: str) -> Sequence[Mapping[str, Any]]:
            result = session.execute(statement)
            names = [column.name for column in result.columns]
            return [dict(zip(names, row, strict=True)) for row in result.rows()]

        text = "\n".join(ddl for _, ddl in definitions_of(ask))
        return review_texts("account", text, account_findings(ask))


def _lines(made: Review) -> list[str]:
    lines = [f"Mode: {made.mode}: {made.why}."]
    lines += (
        ["Gaps:", *(f"  {name}: {advice}." for name, advice in made.gaps)] if made.gaps else ["Gaps: none was seen."]
    )
    if made.findings:
        lines += ["Anti-patterns:"]
        lines += [
            f"  {item.pattern.level} {item.pattern.id} {item.location}: {item.message}. {item.pattern.remedy}"
            for item in made.findings
        ]
    else:
        lines += ["Anti-patterns: none was found" + (" in what could be read." if made.unread else ".")]
    lines += ["Not read:", *(f"  {item.file}:{item.line}: {item.why}" for item in made.unread)] if made.unread else []
    costs = made.costs or ("not in the files: they say neither lags nor volumes.",)
    return [*lines, "Cost:", *(f"  {cost}" for cost in costs)]

"""The tables of docs/reference/security.md, from the tables that the service enforces."""

from __future__ import annotations

from pathlib import Path

from snowmelt.runtime.rights.asks import Ask
from snowmelt.runtime.rights.privileges import account_privileges, privileges, rules

TARGET = Path("docs/reference/security.md")
_BEGIN, _END = "<!-- made by `make docs` from {name} -->", "<!-- end of {name} -->"


def _statement_table() -> str:
    lines = ["| statement | asks for |", "|---|---|"]
    lines += [f"| {rule} | {'; '.join(_words(ask) for ask in asks)} |" for rule, asks in sorted(rules().items())]
    return "\n".join(lines)


def _words(ask: Ask) -> str:
    return f"{' or '.join(ask.privileges)} on {ask.subject.value}"


def _privilege_table() -> str:
    lines = ["| on | can be granted |", "|---|---|"]
    lines += [f"| {kind} | {', '.join(known) or 'only OWNERSHIP'} |" for kind, known in privileges().items()]
    return "\n".join(lines)


def _account_table() -> str:
    lines = ["| privilege on the account | role that has it from the start |", "|---|---|"]
    lines += [f"| {privilege} | {role} |" for privilege, role in sorted(account_privileges().items())]
    return "\n".join(lines)


TABLES = {"RULES": _statement_table, "PRIVILEGES": _privilege_table, "ACCOUNT_PRIVILEGES": _account_table}


def render(page: str) -> str:
    """The page with its tables as they are now."""
    for name, table in TABLES.items():
        begin, end = _BEGIN.format(name=name), _END.format(name=name)
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        page = f"{before}{begin}\n{table()}\n{end}{after}"
    return page

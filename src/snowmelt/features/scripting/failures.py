"""How scripts fail: exceptions that handlers catch, and what becomes of those that nobody does."""

from __future__ import annotations

from dataclasses import dataclass

from snowmelt.core.errors import SnowmeltError

STATEMENT = "STATEMENT_ERROR"
EXPRESSION = "EXPRESSION_ERROR"
_NOT_CAUGHT = frozenset({"000604", "000630"})
"""A cancelled statement stops the block, whatever handlers it has."""


@dataclass(frozen=True, slots=True)
class ExceptionType:
    """An exception that a block declares. Two of one name in different blocks are two."""

    name: str
    code: int
    message: str


class RaisedError(Exception):
    """An exception on its way through a block."""

    def __init__(
        self, kind: str, error: SnowmeltError, line: int, position: int, declared: ExceptionType | None = None
    ) -> None:
        super().__init__(kind)
        self.kind = kind
        self.error = error
        self.line = line
        self.position = position
        self.declared = declared

    def uncaught(self) -> SnowmeltError:
        """What the client sees. The code and the SQLSTATE are those of the first cause."""
        where = f"Uncaught exception of type '{self.kind}' on line {self.line} at position {self.position}"
        message = f"{where} : {self.error.message}" if self.error.message else where
        return SnowmeltError(
            self.error.code, self.error.sqlstate, message, hint=self.error.hint, transient=self.error.transient
        )


def failed(kind: str, error: SnowmeltError, line: int, position: int) -> Exception:
    """The exception for an error inside a block: one that handlers see, unless it stops everything."""
    return error if error.code in _NOT_CAUGHT else RaisedError(kind, error, line, position)


def of_user(declared: ExceptionType, line: int, position: int) -> RaisedError:
    error = SnowmeltError(str(declared.code), "P0001", declared.message)
    return RaisedError(declared.name, error, line, position, declared)


def script_error(message: str) -> SnowmeltError:
    """A mistake in the script that only shows when it runs."""
    return SnowmeltError("092211", "P0000", message)

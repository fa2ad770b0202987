"""Spark's failures in Snowflake's words."""

from __future__ import annotations

import re
from enum import Enum, auto
from errno import EDQUOT, ENOSPC
from os import strerror

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.lazy import lazy_imports

with lazy_imports():
    from pyspark import errors as pyspark_errors

_OWN = re.compile(r"SNOWMELT:([0-9]{6}):([0-9A-Z]{5}):(.*)\Z", re.DOTALL)
_CLASS = re.compile(r"\[[A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*\] ?")
_OUR_NAMES = re.compile(r"(?:`__\w+`\.)?`?\b__\w+`?(?:\.`\w+`)?|`?\bsm_\w+`?")
_SQLSTATE = re.compile(r"SQLSTATE: .*", re.DOTALL)
_SQLSTATE_AT_END = re.compile(r"SQLSTATE: [0-9A-Z]{5}\s*\Z")
_CALL = "An error occurred while calling "
_MOST_QUOTED = 10_000
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")


_NO_MEMORY = re.compile(
    r"java\.lang\.OutOfMemoryError: "
    r"(?:Java heap space|GC overhead|Metaspace|Compressed class space|unable to create native)"
)
_TOO_MUCH = re.compile(r"OutOf(?:Direct)?MemoryError|Not enough memory to build and broadcast")
_HALTED = "java.lang.ThreadDeath"
_DAMAGED = re.compile(
    # The first thread that needs a class initializes it. If that one is stopped, Java never tries again.
    r"NoClassDefFoundError: Could not initialize class"
    # The place for compiled code is full: no new class goes on from there.
    r"|VirtualMachineError: "
)


class Fault(Enum):
    """What went wrong with the process rather than with the statement."""

    NO_MEMORY = auto()
    """Java had none left, as opposed to a task that asked for more than Spark gives it."""
    HALTED = auto()
    """The work ended because its thread was stopped."""
    DAMAGED = auto()
    """The process lacks something that no statement can do without."""


def fault_of(error: BaseException) -> Fault | None:
    text = _causes(error)
    if _NO_MEMORY.search(text):
        return Fault.NO_MEMORY
    if _DAMAGED.search(text):
        return Fault.DAMAGED
    return Fault.HALTED if _HALTED in text else None


def _causes(error: BaseException | None) -> str:
    """The error and what led to it: cleaning up fails as well in a process without memory, and hides why."""
    texts = []
    while error is not None:
        texts.append(str(error))
        error = error.__cause__ or error.__context__
    return "\n".join(texts)


def translate(error: Exception) -> SnowmeltError:
    """The error a user should see for what Spark raised."""
    if isinstance(error, SnowmeltError):
        return error
    condition, parameters, text = _condition(error)
    own = _OWN.search(_unquoted(parameters.get("errorMessage", "")))
    if own is None and not _quotes_a_plan(error, condition):
        # What follows quotes the expression, with the errors in it that nobody raised.
        own = _OWN.search(text.partition("\n== SQL")[0])
    if own is not None:
        return SnowmeltError(own[1], own[2], _SQLSTATE_AT_END.sub("", own[3]).strip())
    if "DIVIDE_BY_ZERO" in condition or "REMAINDER_BY_ZERO" in condition:
        return errors.division_by_zero()
    if "CAST_INVALID_INPUT" in condition or "CANNOT_PARSE_TIMESTAMP" in condition:
        return _bad_cast(parameters, text)
    if "NUMERIC_VALUE_OUT_OF_RANGE" in condition or "ARITHMETIC_OVERFLOW" in condition or "CAST_OVERFLOW" in condition:
        return errors.out_of_range(parameters.get("value", "the result of a calculation"))
    if "MISSING_AGGREGATION" in condition or "MISSING_GROUP_BY" in condition:
        expression = _plain(parameters.get("expression", ""))
        named = f"[{expression}]" if expression else "A column of the SELECT list"
        return errors.compilation("000979", "42601", f"{named} is not a valid group by expression")
    if "GROUPING" in condition:
        return errors.compilation("000979", "42601", "The argument of GROUPING is not a valid group by expression")
    if "UNSUPPORTED_SUBQUERY" in condition or "SCALAR_SUBQUERY_IS_IN_GROUP_BY" in condition:
        reason = _SQLSTATE.sub("", _first_line(text)).partition("] ")[2].strip()
        return _unsupported_subquery(reason.removeprefix("Unsupported subquery expression: "))
    if "INTERNAL_ERROR_ATTRIBUTE_NOT_FOUND" in condition:
        # Every name was resolved when the query was bound: Spark loses columns where it makes joins of subqueries.
        return _unsupported_subquery("Spark lost a column while it made a join of a correlated subquery.")
    if "SCALAR_SUBQUERY_TOO_MANY_ROWS" in condition:
        return SnowmeltError("090150", "22000", "Single-row subquery returns more than one row.")
    if "MULTIPLE_SOURCE_ROW_MATCHING" in text or "MERGE_MULTIPLE" in condition:
        return errors.nondeterministic_merge()
    if "DELTA_CONCURRENT" in condition or "ConcurrentModificationException" in text.split("\n")[0]:
        return errors.WriteConflictError(parameters.get("tableName", ""), _first_line(text))
    if "MALFORMED_RECORD_IN_PARSING" in condition or "INVALID_JSON" in condition:
        return errors.invalid_json(parameters.get("badRecord", ""))
    if "OPERATION_CANCELED" in condition or "cancelled" in text.lower().split("\n")[0]:
        return errors.cancelled()
    if isinstance(error, pyspark_errors.AnalysisException):
        return errors.compilation("001065", "22023", plainly(_first_line(text)))
    if any(strerror(code) in text for code in (ENOSPC, EDQUOT)):
        return errors.storage_failed("The data of the statement", OSError(ENOSPC, strerror(ENOSPC)))
    if "UNABLE_TO_ACQUIRE_MEMORY" in text or _TOO_MUCH.search(text) or fault_of(error) is Fault.NO_MEMORY:
        reason = f"Execution failed: Spark ran out of memory ({_first_line(_cause(text))})"
        return SnowmeltError("300002", "XX000", reason, hint="Give it more, such as spark.driver.memory under [spark].")
    return SnowmeltError("300002", "XX000", f"Execution failed: {plainly(_first_line(_cause(text)))}")


def plainly(text: str) -> str:
    """Spark's message without its class, its SQLSTATE and the names that only the translation knows."""
    plain = _SQLSTATE.sub("", _CLASS.sub("", text)).strip()
    return _OUR_NAMES.sub("a value of the query", plain)


def _cause(text: str) -> str:
    """What went wrong, where Java's text begins with the call that failed and goes on with a stack of causes."""
    if not text.startswith(_CALL):
        return text
    causes = re.findall(r"^(?:Caused by)?: (?:[\w$]+\.)*([\w$]+: .+)$", text, re.MULTILINE)
    return str(causes[-1]) if causes else text


def _condition(error: Exception) -> tuple[str, dict[str, str], str]:
    condition, parameters = "", {}
    text = str(error)
    if isinstance(error, pyspark_errors.PySparkException):
        condition = error.getCondition() or ""
        parameters = dict(error.getMessageParameters() or {})
    found = re.search(r"\[([A-Z_]+(?:\.[A-Z_]+)*)\]", text)
    if not condition and found:
        condition = found[1]
    return condition, parameters, text


def _quotes_a_plan(error: Exception, condition: str) -> bool:
    """Whether the text shows the expression itself, in which errors are named that nobody raised."""
    return isinstance(error, pyspark_errors.AnalysisException) and "EVALUATION" not in condition


def _bad_cast(parameters: dict[str, str], text: str) -> SnowmeltError:
    value = _plain(parameters.get("expression", parameters.get("inputString", "")))
    target = parameters.get("targetType", text)
    if "DATE" in target.upper():
        return errors.not_recognized("Date", value)
    if "TIMESTAMP" in target.upper():
        return errors.not_recognized("Timestamp", value)
    if "TIME" in target.upper():
        return errors.not_recognized("Time", value)
    if "BOOLEAN" in target.upper():
        return errors.not_recognized("Boolean value", value)
    return errors.not_recognized("Numeric value", value)


def _unsupported_subquery(reason: str) -> SnowmeltError:
    return errors.compilation(
        "002031",
        "42601",
        f"Unsupported subquery type cannot be evaluated. {reason}",
        hint="Compute the subquery's value as a column of a subquery in FROM or a WITH clause first, or write a join.",
    )


def _plain(text: str) -> str:
    found = _QUOTED.search(text[:_MOST_QUOTED])
    return found[1] if found else text.strip('"')


def _unquoted(text: str) -> str:
    """Spark puts the message of raise_error between quotes of its own."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == "'" else text


def _first_line(text: str) -> str:
    line = text.strip().split("\n")[0]
    return line if len(line) <= 500 else line[:500] + "…"

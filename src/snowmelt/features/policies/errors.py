"""The errors of policies, with Snowflake's codes where it has them."""

from __future__ import annotations

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError


def in_use(policy: str, why: str = "") -> SnowmeltError:
    return SnowmeltError(
        "003531", "23001",
        f"Policy {policy} cannot be dropped/replaced as it is associated with one or more entities.",
        hint=why or "Take it off them first: POLICY_REFERENCES lists them. ALTER … SET BODY changes it in place.",
    )  # fmt: skip


def column_has_one(column: str) -> SnowmeltError:
    return errors.compilation(
        "003529", "42601",
        f"Specified column already attached to another masking policy. A column cannot be attached to multiple masking "
        f"policies: '{column}'.",
        hint="UNSET MASKING POLICY first, or write FORCE to replace it.",
    )  # fmt: skip


def object_has_one(name: str) -> SnowmeltError:
    return SnowmeltError(
        "003549", "23505",
        f"Object {name} already has a ROW_ACCESS_POLICY. Only one ROW_ACCESS_POLICY is allowed at a time.",
        hint="DROP ROW ACCESS POLICY first, or both in one ALTER.",
    )  # fmt: skip


def has_one(name: str, kind: str) -> SnowmeltError:
    words = kind.replace(" ", "_")
    return SnowmeltError(
        "003549", "23505", f"Object {name} already has a {words}. Only one {words} is allowed at a time.",
        hint="UNSET it first, or write FORCE to replace it.",
    )  # fmt: skip


def wrong_arguments(policy: str, detail: str) -> SnowmeltError:
    return errors.compilation("001007", "22023", f"Policy '{policy}' does not fit: {detail}.")


def column_in_use(table: str, column: str, policy: str) -> SnowmeltError:
    return errors.compilation(
        "003532", "22000", f"Column '{column}' of '{table}' can't be changed: policy '{policy}' uses it.",
        hint="Take the policy off the table or column first.",
    )  # fmt: skip


def broken(name: str, policy: str) -> SnowmeltError:
    """A table or column whose policy no longer works can't be read at all."""
    return errors.compilation(
        "003533", "22000", f"'{name}' can't be read: its policy {policy} is gone, or needs columns that are gone.",
        hint="UNSET MASKING POLICY or DROP ALL ROW ACCESS POLICIES, and set another one.",
    )  # fmt: skip

"""What tables, views and tags have policies."""

from __future__ import annotations

from snowmelt.state.record import Record


class PolicyReference(Record):
    """One policy on a table, a view, a column of one, or a tag."""

    object_id: str
    kind: str
    """Of the policy, such as MASKING POLICY."""
    column: str = ""
    """The column whose values it stands before; of a tag, the kind of values. Empty for the whole object."""
    policy_id: str
    arguments: tuple[str, ...] = ()
    """The columns that the policy's arguments are, in their order."""

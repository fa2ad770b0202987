"""The names of the kinds of objects that hold and use rights."""

from __future__ import annotations

from snowmelt.core.kinds import ObjectType

USER = ObjectType("USER")
ROLE = ObjectType("ROLE")
NETWORK_POLICY = ObjectType("NETWORK POLICY")

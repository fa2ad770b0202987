"""Which Snowmelt this is."""

from __future__ import annotations

from importlib.metadata import version

VERSION = version("snowmelt")

"""Which Snowmelt this is. The package is built with this number too."""

from __future__ import annotations

VERSION = "0.1.0"

"""Where the service's own steps can be interrupted by tests; see `core.faults`."""

from __future__ import annotations

from snowmelt.core.faults import reached

__all__ = ["reached"]

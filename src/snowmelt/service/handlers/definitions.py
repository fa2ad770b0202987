"""All statements that define things: CREATE, ALTER, DROP, UNDROP, COMMENT ON."""

from __future__ import annotations

from snowmelt.service.handlers import alter_tables, containers, tables

HANDLERS = {**containers.HANDLERS, **tables.HANDLERS, **alter_tables.HANDLERS}

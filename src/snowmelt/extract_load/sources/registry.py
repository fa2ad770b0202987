"""The kinds of sources. A new one is a module beside this one, with an extractor and a description, and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from snowmelt.extract_load.sources.base import SourceDescription
from snowmelt.extract_load.sources.databases import MYSQL
from snowmelt.extract_load.sources.files import FILES
from snowmelt.extract_load.sources.kafka import KAFKA
from snowmelt.extract_load.sources.postgres import POSTGRES
from snowmelt.extract_load.sources.rest import API
from snowmelt.extract_load.sources.snowmelt import SNOWMELT
from snowmelt.extract_load.sources.webhook import WEBHOOK

SOURCES: Mapping[str, SourceDescription] = {
    described.kind: described for described in (POSTGRES, *MYSQL, *FILES, KAFKA, API, WEBHOOK, SNOWMELT)
}
"""By the kind that `connections.yaml` names."""

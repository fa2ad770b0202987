"""Opening an account with all its features: the one place that knows them all."""

from __future__ import annotations

from pathlib import Path

from snowmelt.core.clock import Clock
from snowmelt.core.config import Settings
from snowmelt.features.alerts import feature as alerts
from snowmelt.features.channels import feature as channels
from snowmelt.features.connectors import feature as connectors
from snowmelt.features.contracts import feature as contracts
from snowmelt.features.data_catalog import feature as data_catalog
from snowmelt.features.data_products import feature as data_products
from snowmelt.features.dynamic_tables import feature as dynamic_tables
from snowmelt.features.erasure import feature as erasure
from snowmelt.features.iceberg import feature as iceberg
from snowmelt.features.lineage import feature as lineage
from snowmelt.features.loading import feature as loading
from snowmelt.features.notifications import feature as notifications
from snowmelt.features.observing import feature as observing
from snowmelt.features.pipes import feature as pipes
from snowmelt.features.policies import feature as policies
from snowmelt.features.quality import feature as quality
from snowmelt.features.relations import feature as base
from snowmelt.features.scripting import feature as scripting
from snowmelt.features.security import feature as security
from snowmelt.features.streams import feature as streams
from snowmelt.features.tags import feature as tags
from snowmelt.features.tasks import feature as tasks
from snowmelt.features.upkeep import feature as upkeep
from snowmelt.runtime import kinds
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Features
from snowmelt.runtime.ownership import Ownership

FEATURES = Features(
    module.FEATURE
    for module in (
        base,
        security,
        scripting,
        loading,
        pipes,
        streams,
        contracts,
        data_products,
        data_catalog,
        dynamic_tables,
        tasks,
        notifications,
        alerts,
        tags,
        policies,
        channels,
        connectors,
        lineage,
        quality,
        upkeep,
        observing,
        erasure,
        iceberg,
    )
)
"""In the order in which they begin; what looks at a statement does so in this order too."""


def install_kinds(features: Features = FEATURES) -> None:
    """Makes the kinds of objects of these features known to the whole process: its parser and its state stores.

    The first caller that needs kinds installs those of all features (`core.composing`).
    """
    kinds.install(features.kinds)


def open_account(data_dir: str | Path, *, settings: Settings | None = None, clock: Clock | None = None) -> Account:
    """Opens a data directory, making it on first use. Raises when another process owns it."""
    return Account.open(data_dir, FEATURES, settings=settings, clock=clock)


def open_owned(ownership: Ownership, settings: Settings) -> Account:
    """Opens a data directory that this process owns already."""
    return Account.of(ownership, FEATURES, settings)

"""INFORMATION_SCHEMA: its views as relations, built from the catalog when a query names them."""

from snowmelt.runtime.information_schema.views import view

__all__ = ["view"]

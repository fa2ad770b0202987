"""The former name of `antipatterns.model`, which unit tests of projects built before the rename import."""

from snowmelt.design.antipatterns.model import SarifLevel as Level

__all__ = ["Level"]

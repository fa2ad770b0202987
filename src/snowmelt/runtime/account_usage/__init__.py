"""SNOWFLAKE.ACCOUNT_USAGE: what monitoring tools ask of the whole account, by Snowflake's names."""

from snowmelt.runtime.account_usage.views import view

__all__ = ["view"]

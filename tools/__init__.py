"""Tools for developers of Snowmelt."""

"""Extractors, by kind of source."""

"""Loaders, by kind of destination."""

"""Contracts, data products and what else turns tables into something that others can build on."""

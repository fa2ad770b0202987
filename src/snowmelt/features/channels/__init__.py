"""Channels on the side of the account: checking rows, committing them, and what can be asked about them."""

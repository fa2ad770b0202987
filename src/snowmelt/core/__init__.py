"""The vocabulary every other package shares: names, types, time, errors, settings."""

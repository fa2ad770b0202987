"""The vocabulary every other package shares: names, types, time, errors, settings.

Not here: anything that reads a file of the account, or knows SQL.
"""

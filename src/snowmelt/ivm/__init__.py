"""Incremental view maintenance: the algebra, one rule per operator, and refresh plans. Runs without a JVM.

Not here: the engine, the state store, and when a table is refreshed.
"""

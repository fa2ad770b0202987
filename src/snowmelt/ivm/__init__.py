"""Incremental view maintenance: the algebra, one rule per operator, and refresh plans. Runs without a JVM."""

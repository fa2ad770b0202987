"""Refresh plans on the engine: binding a definition, running its stages, applying their rows.

Dynamic tables, streams on views and quality checks use it. It knows nothing of schedules, lags or statements.
"""

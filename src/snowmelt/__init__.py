"""Snowmelt: continuously refreshing data pipelines on your own Spark and Delta Lake."""

"""What is known of a running account: freshness, metrics, alerts, cost. Nothing here reads the state store or Spark.

Not here: what gathers the facts (`features.observing`).
"""

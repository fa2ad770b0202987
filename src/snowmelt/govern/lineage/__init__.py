"""Where every column comes from, and what depends on it. Nothing here knows a catalog, a store or Spark."""

"""Change data capture: what a source database did, as rows."""

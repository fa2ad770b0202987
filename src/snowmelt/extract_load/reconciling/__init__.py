"""Whether a table here holds what its source holds: counts and sums by day, and keys where a day differs."""

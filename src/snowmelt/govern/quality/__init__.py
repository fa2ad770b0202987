"""Quality checks, without anything that runs them: what they ask of a table, and what an answer means."""

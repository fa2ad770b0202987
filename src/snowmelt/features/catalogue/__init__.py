"""The catalogue: a snapshot of all that is offered, and searching it."""

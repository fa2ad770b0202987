"""The data catalog: a snapshot of all that is offered, and searching it."""

"""Data products: what is offered to others, by whom, and what may be expected of it."""

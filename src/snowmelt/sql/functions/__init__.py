"""The allow-list of functions: one module per family, all of them gathered in `catalog`."""

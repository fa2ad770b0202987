"""Quality gates: checks of tables, carried out before a write becomes visible."""

"""What each kind of statement does: one module per family, gathered in `dispatch`."""

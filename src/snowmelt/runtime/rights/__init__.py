"""Who may do what: rights, the check of every statement, logging in, the audit log."""

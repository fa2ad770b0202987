"""Personal data: which columns hold it, and what can be done about it."""

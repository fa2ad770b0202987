"""Statements for a session: what the DB-API, the command line and the server all call."""

"""Statements and rows as clients write them: for the server, and for procedures in their own processes."""

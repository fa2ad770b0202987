"""Statements as frozen values: `parse.parse_statement` reads one, `classify.classify` says what it is."""

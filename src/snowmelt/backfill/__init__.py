"""Rows of a table within a range, derived again: in chunks, resumable, with a way back."""

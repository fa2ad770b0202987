"""Runbooks that a machine carries out: with questions, a memory, and a way back."""

"""What an account offers, for people who look for data: one snapshot of it, searched and shown as pages."""

"""What is known to go wrong, by id, and where it is found: in designs, in SQL, in an account."""

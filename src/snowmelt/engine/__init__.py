"""The Spark session: starting it, reading tables in it, running statements, stopping them."""

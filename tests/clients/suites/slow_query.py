"""A query that takes longer than a request is held."""

from connection import connect

with connect() as connection:
    print(connection.cursor().execute("SELECT SYSTEM$WAIT(2)").fetchone()[0])

"""A connection that outlives its session token, and keeps its session."""

import time

from connection import connect

with connect(client_session_keep_alive=True) as connection:
    cursor = connection.cursor()
    cursor.execute("SET mine = 'kept'")
    for _ in range(3):
        time.sleep(1.1)
        found = cursor.execute("SELECT $mine").fetchone()[0]
print(found)

"""Reads a result of hundreds of megabytes, batch by batch; says how many rows it had and what they add up to."""

import os
import sys

from connection import connect

with connect() as connection:
    cursor = connection.cursor()
    cursor.execute(os.environ["QUERY"])
    count = total = 0
    while batch := cursor.fetchmany(20_000):
        count += len(batch)
        total += sum(row[0] for row in batch)
    print(count, total, flush=True)
    # The session stays open until its files have been looked at.
    sys.stdin.readline()

"""All that a role gets to see of some statements: rows, Arrow tables, pandas' rows, descriptions and errors."""

import json
import os

import snowflake.connector
from connection import connect

found = []
with connect(user=os.environ["POLICY_USER"], schema=os.environ["POLICY_SCHEMA"]) as connection:
    for way in json.loads(os.environ["POLICY_WAYS"]):
        told = []
        for sql in way:
            cursor = connection.cursor()
            try:
                cursor.execute(sql)
                told += [cursor.fetchall(), cursor.description, cursor.sfqid, connection.get_query_status(cursor.sfqid)]
                cursor.get_results_from_sfqid(cursor.sfqid)
                told.append(cursor.fetchall())
                batches = connection.cursor().execute(sql).get_result_batches() if sql.startswith("SELECT") else []
                told += [list(batch) for batch in batches or []]
            except snowflake.connector.Error as error:
                told.append([str(error), error.raw_msg, error.sfqid])
        found.append(json.dumps(told, default=str))
print(json.dumps(found))

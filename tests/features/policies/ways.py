"""Every way in which rows and values can leave."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Way:
    """Statements of the reader. The rows of the last one are what left; `shows` is what they may show, and do."""

    sql: str
    shows: str | None = "***"
    fails: str | None = None
    """The code of the error that the last one ends with."""

    @property
    def statements(self) -> list[str]:
        return [self.sql] if "BEGIN" in self.sql else [one.strip() for one in self.sql.split("; ")]


WAYS: dict[str, Way] = {
    "everything": Way("SELECT * FROM s.t"),
    "columns": Way("SELECT ssn, mail, phone, pay FROM s.t"),
    "open values": Way("SELECT mail FROM s.t", "open-1"),
    "common table": Way("WITH c AS (SELECT * FROM s.t) SELECT * FROM c"),
    "subquery": Way("SELECT * FROM (SELECT * FROM s.t)"),
    "scalar subquery": Way("SELECT (SELECT MAX(ssn) FROM s.t) AS m"),
    "join": Way("SELECT a.*, b.* FROM s.t a JOIN s.t b ON a.id = b.id"),
    "union": Way("SELECT ssn FROM s.t UNION ALL SELECT phone FROM s.t"),
    "group": Way("SELECT ssn, phone, MAX(mail), MAX(pay), COUNT(*) FROM s.t GROUP BY ssn, phone"),
    "list": Way("SELECT LISTAGG(ssn, ','), LISTAGG(mail, ','), MAX(pay) FROM s.t"),
    "array": Way("SELECT ARRAY_AGG(ssn), ARRAY_AGG(phone) FROM s.t"),
    "object": Way("SELECT OBJECT_CONSTRUCT(*) FROM s.t"),
    "window": Way("SELECT FIRST_VALUE(ssn) OVER (ORDER BY id), LAG(phone) OVER (ORDER BY id) FROM s.t"),
    "order": Way("SELECT * FROM s.t ORDER BY ssn, mail, pay LIMIT 2"),
    "sample": Way("SELECT * FROM s.t SAMPLE (100)"),
    "unpivot": Way("SELECT * FROM s.t UNPIVOT (said FOR what IN (ssn, phone))"),
    "pivot": Way("SELECT * FROM (SELECT ssn, id FROM s.t) PIVOT (COUNT(id) FOR ssn IN (ANY))", None),
    "flatten": Way("SELECT f.value FROM s.t, LATERAL FLATTEN(INPUT => ARRAY_CONSTRUCT(ssn, phone)) f"),
    "function": Way("SELECT s.first_ssn()"),
    "table function": Way("SELECT * FROM TABLE(s.all_rows())"),
    "view": Way("SELECT * FROM s.v"),
    "secure view over a view": Way("SELECT * FROM s.sv"),
    "own view": Way("CREATE VIEW own AS SELECT * FROM s.t; SELECT * FROM own"),
    "time travel": Way("SELECT * FROM s.t AT (OFFSET => 0)"),
    "changes": Way("SELECT * FROM s.t CHANGES (INFORMATION => DEFAULT) AT (STREAM => 's.st')"),
    "appended": Way("SELECT * FROM s.t CHANGES (INFORMATION => APPEND_ONLY) AT (STREAM => 's.st')"),
    "files for other engines": Way("SELECT SYSTEM$GET_ICEBERG_TABLE_INFORMATION('s.t')", None, "003001"),
    "changes of a view": Way(
        "SELECT * FROM s.v CHANGES (INFORMATION => DEFAULT) AT (STREAM => 's.vst')", None, "002707"
    ),
    "stream": Way("SELECT * FROM s.st"),
    "stream of a view, and a policy with a subquery": Way("SELECT * FROM s.vst", None, "002707"),
    "stream of a view": Way("SELECT * FROM s.plain_st"),
    "consumed stream": Way("CREATE STREAM own_st ON TABLE s.t SHOW_INITIAL_ROWS = TRUE; "
                           "CREATE TABLE landed AS SELECT * FROM own_st; SELECT * FROM landed"),
    "table of a query": Way("CREATE TABLE ctas AS SELECT * FROM s.t; SELECT * FROM ctas"),
    "insert": Way("CREATE TABLE ins (a VARCHAR, b VARCHAR, c INT); "
                  "INSERT INTO ins SELECT ssn, mail, pay FROM s.t; SELECT * FROM ins"),
    "multi-table insert": Way("CREATE TABLE mi (a VARCHAR, b INT); "
                              "INSERT ALL INTO mi VALUES (ssn, pay) INTO mi VALUES (phone, pay) SELECT * FROM s.t; "
                              "SELECT * FROM mi"),
    "merge from": Way("CREATE TABLE mg (id INT, a VARCHAR, b INT); MERGE INTO mg USING s.t x ON mg.id = x.id "
                      "WHEN NOT MATCHED THEN INSERT VALUES (x.id, x.ssn, x.pay); SELECT * FROM mg"),
    "update from": Way("CREATE TABLE uf AS SELECT column1 AS id, 'before' AS a FROM VALUES (1), (2); "
                       "UPDATE uf SET a = x.ssn FROM s.t x WHERE uf.id = x.id; SELECT * FROM uf"),
    "clone": Way("CREATE TABLE cl CLONE s.t; SELECT * FROM cl"),
    "clone of a schema": Way("SELECT * FROM copied.t"),
    "view in a clone of a schema": Way("SELECT * FROM copied.v"),
    "dynamic table": Way("SELECT * FROM s.dt"),
    "own dynamic table": Way("CREATE DYNAMIC TABLE own_dt TARGET_LAG = '1 hour' WAREHOUSE = compute_wh AS "
                             "SELECT * FROM s.t; SELECT * FROM own_dt"),
    "check of a dynamic table": Way("SELECT SYSTEM$CHECK_DYNAMIC_TABLE('s.dt')", None, "000002"),
    "changes of a refresh": Way("SELECT SYSTEM$REFRESH_CHANGES('s.dt', 'x')", None, "000002"),
    "unload": Way("COPY INTO @s.files/out/ FROM s.t OVERWRITE = TRUE; "
                  "SELECT $1, $2, $3, $4, $5, $6, $7 FROM @s.files/out/"),
    "unload of a query": Way("COPY INTO @s.files/json/ FROM (SELECT OBJECT_CONSTRUCT(*) FROM s.t) "
                             "FILE_FORMAT = (TYPE = JSON) OVERWRITE = TRUE; "
                             "SELECT $1, $2, $3, $4, $5, $6, $7 FROM @s.files/json/"),
    "result": Way("SELECT * FROM s.t; SELECT * FROM TABLE(RESULT_SCAN(LAST_QUERY_ID()))"),
    "variable": Way("SET found = (SELECT MAX(ssn) FROM s.t); SELECT $found"),
    "script": Way("EXECUTE IMMEDIATE 'BEGIN LET c CURSOR FOR SELECT ssn FROM s.t ORDER BY id; OPEN c; "
                  "LET x VARCHAR := ''''; FETCH c INTO x; RETURN x; END'"),
    "pipe": Way("SELECT * FROM s.t ->> SELECT * FROM $1"),
    "explain": Way("EXPLAIN SELECT * FROM s.t", None),
    "history": Way("SELECT ssn FROM s.t; SELECT * FROM TABLE(INFORMATION_SCHEMA.QUERY_HISTORY())", None),
    "search by value": Way("SELECT id FROM s.t WHERE ssn = 'MASKED-1'", None),
    "search by pattern": Way("SELECT id FROM s.t WHERE phone LIKE 'TAGGED%' OR mail LIKE 'COND%'", None),
    "cast of what is masked": Way("SELECT ssn::INT FROM s.t", None, "100038"),
    "cast of hidden rows": Way("SELECT id FROM s.t WHERE level::INT = 1", None, "100038"),
    "cast in a view": Way("SELECT id FROM s.v WHERE level::INT = 1", None, "100038"),
    "procedure": Way("CREATE PROCEDURE own_p() RETURNS TABLE (a VARCHAR, b INT) LANGUAGE SQL AS 'BEGIN LET r RESULTSET "
                     ":= (SELECT ssn, pay FROM s.t); RETURN TABLE(r); END'", None),
    "called procedure": Way("CALL s.told()"),
    "task": Way("CREATE TABLE tasked (a VARCHAR); CREATE TASK own_t WAREHOUSE = compute_wh SCHEDULE = '1 hour' AS "
                "INSERT INTO tasked SELECT ssn FROM s.t; SHOW TASKS", None),
    "refreshed dynamic table": Way("CREATE DYNAMIC TABLE full_dt TARGET_LAG = '1 hour' WAREHOUSE = compute_wh "
                                   "REFRESH_MODE = FULL AS SELECT id, MAX(ssn) AS s, MAX(pay) AS p FROM s.t "
                                   "GROUP BY id; ALTER DYNAMIC TABLE full_dt REFRESH; SELECT * FROM full_dt"),
    "description": Way("DESCRIBE TABLE s.t", None),
    "listing": Way("SHOW TABLES IN SCHEMA s", None),
    "check of a dimension": Way("SELECT SYSTEM$CHECK_SCD('s.t', 'id')", None, "000904"),
    "quarantined rows": Way("SELECT * FROM s.checked_quarantine"),
    "rejected rows": Way("SELECT * FROM TABLE(ERROR_TABLE(s.fed))", None),
    "division in a stream": Way("SELECT 1 / 0 FROM s.st", None, "100051"),
}  # fmt: skip

HELD_BACK, UNGROUPED, NOT_WITH_GROUPS, NO_TARGET = "002755", "002759", "002760", "000002"
_ROWS = {
    "everything": "SELECT * FROM s.{0}", "column": "SELECT word FROM s.{0}", "text": "SELECT 'x' || word FROM s.{0}",
    "subquery": "SELECT y FROM (SELECT LOWER(word) AS y FROM s.{0})",
    "common table": "WITH c AS (SELECT word FROM s.{0}) SELECT c.* FROM c",
    "object": "SELECT OBJECT_CONSTRUCT('w', word) FROM s.{0}",
    "flatten": "SELECT f.value FROM s.{0} x, LATERAL FLATTEN(INPUT => ARRAY_CONSTRUCT(x.word)) f",
    "lateral": "SELECT l.w FROM s.{0} x, LATERAL (SELECT x.word AS w) l",
    "join": "SELECT b.word FROM s.v a LEFT JOIN s.{0} b ON TRUE",
    "using": "SELECT word FROM s.{0} a JOIN (SELECT 'HELDBACK-1' AS word) b USING (word)",
    "union": "SELECT region FROM s.v UNION ALL SELECT word FROM s.{0}",
    "window": "SELECT FIRST_VALUE(word) OVER (ORDER BY id) FROM s.{0}",
    "largest": "SELECT MAX(word) FROM s.{0}", "list": "SELECT LISTAGG(word, ',') FROM s.{0}",
    "array": "SELECT ARRAY_AGG(word) FROM s.{0}", "by": "SELECT MAX_BY(word, id) FROM s.{0}",
    "key": "SELECT word, COUNT(*) FROM s.{0} GROUP BY word",
    "scalar subquery": "SELECT (SELECT MIN(word) FROM s.{0})", "variable": "SET w = (SELECT MIN(word) FROM s.{0})",
    "recursive": "WITH RECURSIVE r AS (SELECT 1 AS n, word FROM s.{0} UNION ALL SELECT n + 1, word FROM r WHERE n < 2) "
                 "SELECT word FROM r",
    "unpivot": "SELECT said FROM s.{0} UNPIVOT (said FOR what IN (word))",
    "pivot": "SELECT * FROM (SELECT word, id FROM s.{0}) PIVOT (COUNT(id) FOR word IN (ANY))",
    "view": "SELECT word FROM s.{0}_v", "stream": "SELECT word FROM s.{0}_st",
    "function": "SELECT * FROM TABLE(s.{0}_words())", "time travel": "SELECT word FROM s.{0} AT (OFFSET => 0)",
    "table of a query": "CREATE TABLE {0}_ctas AS SELECT word FROM s.{0}",
    "insert": "INSERT INTO s.kept (none) SELECT word FROM s.{0}",
    "several tables": "INSERT ALL INTO s.kept (none) VALUES (word) SELECT word FROM s.{0}",
    "merge": "MERGE INTO s.w USING s.{0} x ON w.id = x.id WHEN NOT MATCHED THEN INSERT (ssn) VALUES (x.word)",
    "update": "UPDATE s.{0} SET id = LENGTH(word)", "delete": "DELETE FROM s.{0} WHERE word LIKE '%1'",
    "update by a subquery": "UPDATE s.checked SET ssn = (SELECT MIN(word) FROM s.{0})",
    "delete by a subquery": "DELETE FROM s.checked WHERE ssn IN (SELECT word FROM s.{0})",
    "rows of values": "SELECT * FROM (VALUES ((SELECT MIN(word) FROM s.{0})), ('x')) v (a)",
    "lambda": "SELECT TRANSFORM(ARRAY_CONSTRUCT(word), x -> x || '!') FROM s.{0}",
    "values": "INSERT INTO s.kept (none) VALUES ((SELECT MIN(word) FROM s.{0}))",
    "unload": "COPY INTO @s.files/{0}/ FROM s.{0}",
    "unload of a query": "COPY INTO @s.files/{0}/ FROM (SELECT word FROM s.{0})",
    "dynamic table": "CREATE DYNAMIC TABLE {0}_dt TARGET_LAG = '1 hour' WAREHOUSE = compute_wh AS "
                     "SELECT word FROM s.{0}",
    "sample": "SELECT word FROM s.{0} SAMPLE (100)", "pipe": "SELECT word FROM s.{0} ->> SELECT * FROM $1",
}  # fmt: skip
_NO_TARGETS = ("merge", "update", "delete", "update by a subquery", "delete by a subquery")
_WITHOUT_GROUPS = {
    "flatten", "lateral", "join", "using", "union", "window", "recursive", "pivot", "unpivot", "function",
}  # fmt: skip
"""Refused for what stands around the rows; the others for what becomes of them."""
CONSTRAINED: dict[str, Way] = {
    **{
        f"{name}, held back": Way(sql.format("kept"), None, NO_TARGET if name in _NO_TARGETS else HELD_BACK)
        for name, sql in _ROWS.items()
    },
    **{
        f"{name}, in groups": Way(
            sql.format("grp"), None,
            NO_TARGET if name in _NO_TARGETS else NOT_WITH_GROUPS if name in _WITHOUT_GROUPS else UNGROUPED,
        )
        for name, sql in _ROWS.items() if name != "key"
    },
    "all rows become NULL": Way("SELECT id, none, UPPER(none), MAX(none) OVER () FROM s.kept", "null"),
    "a value becomes NULL": Way("SELECT MAX(none), COUNT(*) FROM s.kept", "null"),
    "it may be compared": Way("SELECT id FROM s.kept WHERE word = 'HELDBACK-2' ORDER BY word", "2"),
    "a small group": Way("SELECT COUNT(*), SUM(pay) FROM s.grp WHERE id = 1", "null"),
    "small groups": Way("SELECT word, who, SUM(pay) FROM s.grp GROUP BY word, who", "262962006"),
    "a filtered small group": Way("SELECT who FROM s.grp GROUP BY who HAVING SUM(pay) < 0", None),
    "too few people": Way("SELECT COUNT(*), SUM(pay) FROM s.people", "null"),
    "too few people in a join": Way("SELECT COUNT(*), SUM(people.pay) FROM s.people JOIN s.v ON TRUE", "null"),
    "rows beside rows": Way("SELECT COUNT(*) FROM s.grp, TABLE(GENERATOR(ROWCOUNT => 9)) WHERE id = 1", None,
                            NOT_WITH_GROUPS),
    "rows below rows": Way("SELECT COUNT(*) FROM (SELECT id FROM s.grp WHERE id = 1 UNION ALL SELECT SEQ4() FROM "
                           "TABLE(GENERATOR(ROWCOUNT => 9)))", None, NOT_WITH_GROUPS),
    "one row of rows": Way("SELECT SUM(pay) FROM (SELECT pay FROM s.grp ORDER BY id LIMIT 1)", None, NOT_WITH_GROUPS),
    "whether there is one": Way("SELECT EXISTS (SELECT 1 FROM s.grp WHERE word = 'SINGLE-1')", None, UNGROUPED),
    "a row for a row": Way("SELECT id, (SELECT SUM(pay) FROM s.grp g WHERE g.id = k.id) AS p FROM s.kept k", "null"),
}  # fmt: skip
"""Ways of what policies let nobody give out, or only in groups of three."""
WAYS.update(CONSTRAINED)

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

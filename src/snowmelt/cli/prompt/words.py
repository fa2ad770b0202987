"""Words that mean something in every account: SQL's, and the names of functions."""

from __future__ import annotations

from sqlglot.dialects.snowflake import Snowflake

from snowmelt.sql.functions.catalog import FUNCTIONS

_OURS = (
    "ALERT ALERTS CALL CHANNEL CHANNELS CHECK CLONE COLUMNS CONNECTOR CONNECTORS CONTRACT COPY DATABASES "
    "DECLARE DOWNSTREAM DYNAMIC EXECUTE EXPLAIN FLATTEN FUNCTION GET GRANT GRANTS INITIALIZE LATERAL LIST "
    "PARAMETERS PIVOT PROCEDURE PRODUCT PUT QUALIFY QUALITY REFRESH REFRESH_MODE REMOVE RESUME RETURN "
    "REVOKE ROLE ROLES SAMPLE SCHEDULE SCHEMAS STAGE STREAM STREAMS SUSPEND TABLES TAG TARGET_LAG TASK "
    "TASKS TRANSACTIONS TRUNCATE UNDROP UNPIVOT USER USERS VIEWS WAREHOUSE"
)

KEYWORDS: frozenset[str] = frozenset(
    word
    for word in (*Snowflake.Tokenizer.KEYWORDS, *_OURS.split())
    if word.replace("_", "").isalpha() and word.isupper()
)
FUNCTION_NAMES: frozenset[str] = frozenset(FUNCTIONS) - KEYWORDS

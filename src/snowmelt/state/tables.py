"""The tables as queries see them. The DDL that makes them is in `migrations/`; a test compares the two."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Integer, MetaData, Table, Text

from snowmelt.state.columns import DefinitionJson, Instant

METADATA = MetaData()

SCHEMA_VERSION = Table("schema_version", METADATA, Column("version", Integer, primary_key=True))

LEDGER = Table(
    "ledger",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("last_instant", Instant),
    Column("generation", BigInteger),
)

DATABASES = Table(
    "databases",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text),
    Column("owner", Text),
    Column("comment", Text),
    Column("transient", Boolean),
    Column("retention_days", Integer),
    Column("created_on", Instant),
    Column("altered_on", Instant),
    Column("dropped_on", Instant),
)

SCHEMAS = Table(
    "schemas",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("database_id", Text),
    Column("name", Text),
    Column("owner", Text),
    Column("comment", Text),
    Column("transient", Boolean),
    Column("managed_access", Boolean),
    Column("retention_days", Integer),
    Column("created_on", Instant),
    Column("altered_on", Instant),
    Column("dropped_on", Instant),
    Column("dropped_with", Text),
)

OBJECTS = Table(
    "objects",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("schema_id", Text),
    Column("kind", Text),
    Column("name", Text),
    Column("slot", Text),
    Column("owner", Text),
    Column("comment", Text),
    Column("session_id", Text),
    Column("created_on", Instant),
    Column("altered_on", Instant),
    Column("dropped_on", Instant),
    Column("dropped_with", Text),
    Column("definition", DefinitionJson),
)

TABLE_VERSIONS = Table(
    "table_versions",
    METADATA,
    Column("table_id", Text, primary_key=True),
    Column("version", BigInteger, primary_key=True),
    Column("committed_at", Instant),
    Column("transaction_id", Text),
    Column("query_id", Text),
    Column("operation", Text),
    Column("row_count", BigInteger),
    Column("byte_count", BigInteger),
    Column("is_foreign", Boolean),
    Column("superseded_by", BigInteger),
)

UNDONE_RANGES = Table(
    "undone_ranges",
    METADATA,
    Column("table_id", Text, primary_key=True),
    Column("first_version", BigInteger, primary_key=True),
    Column("last_version", BigInteger, primary_key=True),
)

TRANSACTIONS = Table(
    "transactions",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("state", Text),
    Column("opened_at", Instant),
    Column("finished_at", Instant),
)

TRANSACTION_TABLES = Table(
    "transaction_tables",
    METADATA,
    Column("transaction_id", Text, primary_key=True),
    Column("table_id", Text, primary_key=True),
)

COUNTERS = Table(
    "counters",
    METADATA,
    Column("owner_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("next_value", BigInteger),
)

WAREHOUSES = Table(
    "warehouses",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text),
    Column("record", Text),
)

PARAMETERS = Table(
    "parameters",
    METADATA,
    Column("level", Text, primary_key=True),
    Column("owner", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("value", Text),
)

QUERIES = Table(
    "queries",
    METADATA,
    Column("query_id", Text, primary_key=True),
    Column("session_id", Text),
    Column("user_name", Text),
    Column("status", Text),
    Column("start_time", Instant),
    Column("record", Text),
)

FILE_LOADS = Table(
    "file_loads",
    METADATA,
    Column("table_id", Text, primary_key=True),
    Column("file", Text, primary_key=True),
    Column("loaded_at", Instant, primary_key=True),
    Column("record", Text),
)

TABLE_SHAPES = Table(
    "table_shapes",
    METADATA,
    Column("table_id", Text, primary_key=True),
    Column("last_version", BigInteger, primary_key=True),
    Column("definition", DefinitionJson),
    Column("columns", Text),
)

WAREHOUSE_USAGE = Table(
    "warehouse_usage",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("warehouse_id", Text),
    Column("started_at", Instant),
    Column("ended_at", Instant),
    Column("record", Text),
)

DYNAMIC_TABLES = Table(
    "dynamic_tables",
    METADATA,
    Column("table_id", Text, primary_key=True),
    Column("record", Text),
)

DYNAMIC_REFRESHES = Table(
    "dynamic_refreshes",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("table_id", Text),
    Column("data_timestamp", Instant),
    Column("state", Text),
    Column("version", BigInteger),
    Column("record", Text),
)

DYNAMIC_GRAPH = Table(
    "dynamic_graph",
    METADATA,
    Column("table_id", Text, primary_key=True),
    Column("valid_from", Instant, primary_key=True),
    Column("valid_to", Instant),
    Column("record", Text),
)

PROJECT_OBJECTS = Table(
    "project_objects",
    METADATA,
    Column("project", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("record", Text),
)

STREAMS = Table(
    "streams",
    METADATA,
    Column("stream_id", Text, primary_key=True),
    Column("record", Text),
)

CONNECTORS = Table(
    "connectors",
    METADATA,
    Column("connector_id", Text, primary_key=True),
    Column("record", Text),
)

LINEAGE = Table(
    "lineage",
    METADATA,
    Column("target_id", Text, primary_key=True),
    Column("digest", Text, primary_key=True),
    Column("target_name", Text),
    Column("record", Text),
)

FRESHNESS_SPANS = Table(
    "freshness_spans",
    METADATA,
    Column("object_id", Text, primary_key=True),
    Column("since", Instant, primary_key=True),
    Column("until", Instant),
    Column("record", Text),
)

SCHEMA_DRIFTS = Table(
    "schema_drifts",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("object_id", Text),
    Column("found_at", Instant),
    Column("record", Text),
)

ALERT_STANDINGS = Table(
    "alert_standings",
    METADATA,
    Column("alert_key", Text, primary_key=True),
    Column("record", Text),
)

NOTIFICATIONS = Table(
    "notifications",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("sent_at", Instant),
    Column("record", Text),
)

CONTRACT_LINKS = Table(
    "contract_links",
    METADATA,
    Column("object_id", Text, primary_key=True),
    Column("contract_id", Text),
    Column("major", Integer),
    Column("described", Text),
)

TASKS = Table(
    "tasks",
    METADATA,
    Column("task_id", Text, primary_key=True),
    Column("record", Text),
)

TASK_GRAPH_RUNS = Table(
    "task_graph_runs",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("group_id", Text),
    Column("root_id", Text),
    Column("state", Text),
    Column("scheduled_time", Instant),
    Column("record", Text),
)

TASK_RUNS = Table(
    "task_runs",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("graph_run_id", Text),
    Column("task_id", Text),
    Column("state", Text),
    Column("scheduled_time", Instant),
    Column("record", Text),
)

ROLES = Table(
    "roles",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("record", Text),
)

NETWORK_POLICIES = Table(
    "network_policies",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("record", Text),
)

USERS = Table(
    "users",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("login_name", Text),
    Column("record", Text),
)

ACCESS_TOKENS = Table(
    "access_tokens",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("user_name", Text),
    Column("name", Text),
    Column("token_hash", Text),
    Column("record", Text),
)

GRANTS = Table(
    "grants",
    METADATA,
    Column("grantee_kind", Text, primary_key=True),
    Column("grantee", Text, primary_key=True),
    Column("on_kind", Text, primary_key=True),
    Column("on_id", Text, primary_key=True),
    Column("privilege", Text, primary_key=True),
    Column("grant_option", Boolean),
    Column("granted_by", Text),
    Column("created_on", Instant),
)

FUTURE_GRANTS = Table(
    "future_grants",
    METADATA,
    Column("container_id", Text, primary_key=True),
    Column("on_kind", Text, primary_key=True),
    Column("privilege", Text, primary_key=True),
    Column("grantee", Text, primary_key=True),
    Column("grant_option", Boolean),
    Column("granted_by", Text),
    Column("created_on", Instant),
)

AUDIT_EVENTS = Table(
    "audit_events",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("at", Instant),
    Column("kind", Text),
    Column("user_name", Text),
    Column("record", Text),
)

CHANNELS = Table(
    "channels",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("table_id", Text),
    Column("name", Text),
    Column("record", Text),
)

POLICY_REFERENCES = Table(
    "policy_references",
    METADATA,
    Column("object_id", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("column_name", Text, primary_key=True),
    Column("policy_id", Text),
    Column("record", Text),
)

CHANNEL_MINUTES = Table(
    "channel_minutes",
    METADATA,
    Column("channel_id", Text, primary_key=True),
    Column("minute", Instant, primary_key=True),
    Column("table_id", Text),
    Column("record", Text),
)

QUALITY_RESULTS = Table(
    "quality_results",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("table_id", Text),
    Column("check_name", Text),
    Column("measured_at", Instant),
    Column("record", Text),
)

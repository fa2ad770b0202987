"""The columns of SHOW and DESCRIBE, kind by kind, in Snowflake's order."""

from __future__ import annotations

from snowmelt.runtime.metadata.columns import Columns, columns

TERSE_OBJECT = columns("created_on:ts, name, kind, database_name, schema_name")

_TABLES = (
    "created_on:ts, name, database_name, schema_name, kind, comment, cluster_by, rows:n, bytes:n, owner, "
    "retention_time, {dropped}automatic_clustering, change_tracking, search_optimization, "
    "search_optimization_progress, search_optimization_bytes, is_external, enable_schema_evolution, "
    "owner_role_type, is_event, is_hybrid, is_iceberg, is_dynamic, is_immutable"
)
_SCHEMAS = (
    "created_on:ts, name, is_default, is_current, database_name, owner, comment, options, retention_time, "
    "{dropped}owner_role_type, classification_profile_database, classification_profile_schema, "
    "classification_profile, object_visibility, is_nested"
)
_DATABASES = (
    "created_on:ts, name, is_default, is_current, origin, owner, comment, options, retention_time, "
    "{dropped}kind, owner_role_type, object_visibility, data_quality_monitoring_settings, resharing_settings"
)
_KEYS = (
    "created_on:ts, database_name, schema_name, table_name, column_name, key_sequence:n, constraint_name, rely, comment"
)
_FOREIGN_KEYS = (
    "created_on:ts, pk_database_name, pk_schema_name, pk_table_name, pk_column_name, fk_database_name, "
    "fk_schema_name, fk_table_name, fk_column_name, key_sequence:n, update_rule, delete_rule, fk_name, pk_name, "
    "deferrability, rely, comment"
)
_INTEGRATIONS = "name, type, category, enabled, comment, created_on:ts"

SHOW: dict[str, Columns] = {
    kind: columns(text.format(dropped=""))
    for kind, text in {
        "TABLES": _TABLES,
        "SCHEMAS": _SCHEMAS,
        "DATABASES": _DATABASES,
        "VIEWS": (
            "created_on:ts, name, reserved, database_name, schema_name, owner, comment, text, is_secure, "
            "is_materialized, owner_role_type, change_tracking"
        ),
        "OBJECTS": (
            "created_on:ts, name, database_name, schema_name, kind, comment, cluster_by, rows:n, bytes:n, owner, "
            "retention_time, owner_role_type, is_hybrid, is_dynamic, is_iceberg, is_interactive"
        ),
        "COLUMNS": (
            "table_name, schema_name, column_name, data_type, null?, default, kind, expression, comment, "
            "database_name, autoincrement, schema_evolution_record"
        ),
        "WAREHOUSES": (
            "name, state, type, size, min_cluster_count:n, max_cluster_count:n, started_clusters:n, running:n, "
            "queued:n, is_default, is_current, auto_suspend:n, auto_resume, available, provisioning, quiescing, "
            "other, created_on:ts, resumed_on:ts, updated_on:ts, owner, comment, enable_query_acceleration, "
            "query_acceleration_max_scale_factor:n, resource_monitor, actives:n, pendings:n, failed:n, "
            "suspended:n, uuid, scaling_policy, owner_role_type, resource_constraint, generation, "
            "query_throughput_multiplier:n, max_query_performance_level, disabled_reasons, tables"
        ),
        "SEQUENCES": (
            "name, database_name, schema_name, next_value:n, interval:n, created_on:ts, owner, comment, "
            "owner_role_type, ordered"
        ),
        "PRIMARY KEYS": _KEYS,
        "UNIQUE KEYS": _KEYS,
        "IMPORTED KEYS": _FOREIGN_KEYS,
        "EXPORTED KEYS": _FOREIGN_KEYS,
        "PARAMETERS": "key, value, default, level, description, type",
        "VARIABLES": "session_id, created_on:ts, updated_on:ts, name, value, type, comment",
        "TRANSACTIONS": "id:n, user, session, name, started_on:ts, state, scope:n",
        "LOCKS": (
            "resource, type, transaction:n, transaction_started_on:ts, status, acquired_on:ts, query_id, session"
        ),
        # Objects that can't exist here yet: clients ask for them all the same, and get the empty table.
        "MATERIALIZED VIEWS": (
            "created_on:ts, name, reserved, database_name, schema_name, cluster_by, rows:n, bytes:n, "
            "source_database_name, source_schema_name, source_table_name, refreshed_on:ts, compacted_on:ts, owner, "
            "invalid, invalid_reason, behind_by, comment, text, is_secure, automatic_clustering, owner_role_type"
        ),
        "EXTERNAL TABLES": (
            "created_on:ts, name, database_name, schema_name, invalid, invalid_reason, owner, comment, stage, "
            "location, file_format_name, file_format_type, cloud, region, notification_channel, "
            "last_refreshed_on:ts, table_format, last_refresh_details, owner_role_type"
        ),
        "EVENT TABLES": "created_on:ts, name, database_name, schema_name, owner, comment, owner_role_type",
        "HYBRID TABLES": (
            "created_on:ts, name, database_name, schema_name, owner, rows:n, bytes:n, comment, owner_role_type"
        ),
        "ICEBERG TABLES": (
            "created_on:ts, name, database_name, schema_name, owner, external_volume_name, catalog_name, "
            "iceberg_table_type, catalog_table_name, catalog_namespace, base_location, can_write_metadata, "
            "comment, name_mapping, owner_role_type, catalog_sync_name, auto_refresh_status, partition_specs, "
            "current_partition_spec_id:n, iceberg_table_format_version:n"
        ),
        "RESOURCE MONITORS": (
            "name, credit_quota, used_credits, remaining_credits, level, frequency, start_time, end_time, "
            "notify_at, suspend_at, suspend_immediately_at, created_on:ts, owner, comment, notify_users"
        ),
        "DATABASE ROLES": (
            "created_on:ts, name, is_default, is_current, is_inherited, granted_to_roles:n, "
            "granted_to_database_roles:n, granted_database_roles:n, owner, comment, owner_role_type"
        ),
        "INTEGRATIONS": _INTEGRATIONS,
        "STORAGE INTEGRATIONS": _INTEGRATIONS,
        "SHARES": "created_on:ts, kind, owner_account, name, database_name, to, owner, comment",
        "SECRETS": (
            "created_on:ts, name, schema_name, database_name, owner, comment, secret_type, oauth_scopes, "
            "owner_role_type"
        ),
        "REGIONS": "snowflake_region, cloud, region, display_name",
    }.items()
}

HISTORY: dict[str, Columns] = {
    kind: columns(text.format(dropped="dropped_on:ts, "))
    for kind, text in {"TABLES": _TABLES, "SCHEMAS": _SCHEMAS, "DATABASES": _DATABASES}.items()
}
"""With HISTORY, `dropped_on` follows `retention_time`."""

TERSE: dict[str, Columns] = {
    **dict.fromkeys(("TABLES", "VIEWS", "SCHEMAS", "DATABASES", "OBJECTS"), TERSE_OBJECT),
}
"""Kinds that TERSE changes; it means nothing to all others."""

_TABLE = (
    "name, type, kind, null?, default, primary key, unique key, check, expression, comment, policy name, "
    "privacy domain, {evolution}write default"
)
DESCRIBE_TABLE = columns(_TABLE.format(evolution=""))
DESCRIBE_EVOLVING_TABLE = columns(_TABLE.format(evolution="schema_evolution_record, "))
DESCRIBE_RESULT = columns("name, type, kind, null?, default, primary key, unique key, check, expression, comment")
DESCRIBE_CONTAINER = columns("created_on:ts, name, kind")
DESCRIBE_STAGE = columns("parent_property, property, property_type, property_value, property_default")
DESCRIBE_FILE_FORMAT = columns("property, property_type, property_value, property_default")
DESCRIBE_PROPERTIES = columns("property, value")

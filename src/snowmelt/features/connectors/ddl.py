"""The CREATE statement of a connector, for GET_DDL."""

from __future__ import annotations

from snowmelt.core.names import literal
from snowmelt.features.connectors.definitions import (
    ConnectorDefinition,
    ConnectorTarget,
    Route,
    SnapshotReader,
    definition_of,
)
from snowmelt.runtime.metadata.ddl_words import flag, object_name
from snowmelt.sql.statements.spelling import spelled
from snowmelt.state.model import CatalogObject


def ddl(item: CatalogObject, qualified: bool) -> str:
    """Everything but the password, which the definition does not have."""
    definition = definition_of(item)
    texts = {
        "HOST": definition.host,
        "DATABASE": definition.database,
        "USER": definition.user,
        "PASSWORD_ENV": definition.password_env,
        "SECRET_FILE": definition.secret_file,
        "SSL_MODE": definition.ssl_mode.upper(),
        "SLOT": definition.slot or None,
        "PUBLICATION": definition.publication or None,
        "SIGNAL_TABLE": definition.signal_table,
        **_topics(definition),
        "COMMENT": item.comment,
    }
    lines = [f"TYPE={definition.type}", f"PORT={definition.port}"]
    lines += [f"SERVER_ID={definition.server_id}"] if definition.server_id is not None else []
    lines += [f"{name}={literal(value)}" for name, value in texts.items() if value is not None]
    lines.append(f"TABLES=({', '.join(literal(table) for table in definition.tables)})")
    lines.append(f"SNAPSHOT_MODE={definition.snapshot_mode}")
    if definition.snapshot_reader is not SnapshotReader.AUTO:
        lines.append(f"SNAPSHOT_READER={definition.snapshot_reader}")
    lines += _target(definition)
    lines.append(f"DEAD_LETTER_TABLE={object_name(definition.dead_letters, qualified=True)}")
    if definition.pii:
        lines.append(f"PII=({', '.join(f'{literal(column)} = {literal(word)}' for column, word in definition.pii)})")
    lines.append(f"SLOT_WARNING_MB={definition.slot_warning_bytes // 2**20}")
    head = f"create or replace connector {object_name(item.name, qualified=qualified)}"
    return head + "".join(f"\n\t{line}" for line in lines) + ";"


def _topics(definition: ConnectorDefinition) -> dict[str, str | None]:
    if definition.route is Route.EMBEDDED:
        return {}
    return {
        "ROUTE": definition.route.value,
        "BOOTSTRAP_SERVERS": definition.bootstrap_servers,
        "TOPIC_PREFIX": definition.topic_prefix,
        "KAFKA_PROPERTIES_FILE": definition.kafka_properties_file,
    }


def _target(definition: ConnectorDefinition) -> list[str]:
    if definition.target is ConnectorTarget.RAW:
        assert definition.raw_table is not None
        name = object_name(definition.raw_table, qualified=True)
        return ["TARGET=RAW", f"RAW_TABLE={name}", f"CAPTURE_READS={flag(definition.capture_reads)}"]
    assert definition.mirror_schema is not None
    schema = f"{spelled(definition.mirror_schema.database)}.{spelled(definition.mirror_schema.name)}"
    return ["TARGET=MIRROR", f"MIRROR_SCHEMA={schema}", f"DELETES={definition.deletes}"]

"""What built projects extend: extractors, transformers and loaders, and the run that puts them together.

Not here: an account; it reaches one as any client does.
"""

from snowmelt.extract_load.destinations.base import Loader, LoadStrategy
from snowmelt.extract_load.destinations.delta import DeltaLoader
from snowmelt.extract_load.destinations.files import FilesLoader
from snowmelt.extract_load.destinations.postgres import PostgresLoader
from snowmelt.extract_load.destinations.rest import SENT_DDL, RestLoader
from snowmelt.extract_load.destinations.snowmelt import (
    DEAD_LETTERS_DDL,
    RAW_DDL,
    READINGS_DDL,
    ChannelLoader,
    DeadLetterLoader,
    RawLoader,
    ReadingsLoader,
    TableLoader,
)
from snowmelt.extract_load.destinations.tables import SqlLoader, load_statements
from snowmelt.extract_load.drift import ColumnChange, Field, compare_columns
from snowmelt.extract_load.endpoints import Endpoint, endpoint_of, read_endpoints
from snowmelt.extract_load.gating import Gate, GateResult, check_gates
from snowmelt.extract_load.making import make_extractor, make_loader
from snowmelt.extract_load.problems import SourceRefusedError, SourceUnavailableError
from snowmelt.extract_load.records import Batch, Record, Rejected, RejectedRecordError, Rows, Whole
from snowmelt.extract_load.running import Flow, FlowResult, run_flow
from snowmelt.extract_load.schemas import (
    FollowSchema,
    SchemaDriftError,
    SchemaPolicy,
    column_changes,
    infer_fields,
    saw_records,
)
from snowmelt.extract_load.shaping import AddColumns, CastColumns
from snowmelt.extract_load.sources.base import Extractor
from snowmelt.extract_load.sources.databases import DatabaseExtractor, MysqlExtractor
from snowmelt.extract_load.sources.files import FilesExtractor
from snowmelt.extract_load.sources.kafka import KafkaExtractor
from snowmelt.extract_load.sources.paging import (
    CursorPaging,
    LinkPaging,
    NoPaging,
    OffsetPaging,
    PageNumberPaging,
    Paging,
)
from snowmelt.extract_load.sources.postgres import PostgresExtractor
from snowmelt.extract_load.sources.requesting import ApiKeyAuth, BearerAuth
from snowmelt.extract_load.sources.rest import RestExtractor
from snowmelt.extract_load.sources.snowmelt import SnowmeltExtractor
from snowmelt.extract_load.transforming import Chain, ProtectColumns, Transformed, Transformer, pii_key

__all__ = [
    "DEAD_LETTERS_DDL",
    "RAW_DDL",
    "READINGS_DDL",
    "SENT_DDL",
    "AddColumns",
    "ApiKeyAuth",
    "Batch",
    "BearerAuth",
    "CastColumns",
    "Chain",
    "ChannelLoader",
    "ColumnChange",
    "CursorPaging",
    "DatabaseExtractor",
    "DeadLetterLoader",
    "DeltaLoader",
    "Endpoint",
    "Extractor",
    "Field",
    "FilesExtractor",
    "FilesLoader",
    "Flow",
    "FlowResult",
    "FollowSchema",
    "Gate",
    "GateResult",
    "KafkaExtractor",
    "LinkPaging",
    "LoadStrategy",
    "Loader",
    "MysqlExtractor",
    "NoPaging",
    "OffsetPaging",
    "PageNumberPaging",
    "Paging",
    "PostgresExtractor",
    "PostgresLoader",
    "ProtectColumns",
    "RawLoader",
    "ReadingsLoader",
    "Record",
    "Rejected",
    "RejectedRecordError",
    "RestExtractor",
    "RestLoader",
    "Rows",
    "SchemaDriftError",
    "SchemaPolicy",
    "SnowmeltExtractor",
    "SourceRefusedError",
    "SourceUnavailableError",
    "SqlLoader",
    "TableLoader",
    "Transformed",
    "Transformer",
    "Whole",
    "check_gates",
    "column_changes",
    "compare_columns",
    "endpoint_of",
    "infer_fields",
    "load_statements",
    "make_extractor",
    "make_loader",
    "pii_key",
    "read_endpoints",
    "run_flow",
    "saw_records",
]

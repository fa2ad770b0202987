"""What built projects extend: extractors, transformers and loaders, and the run that puts them together."""

from snowmelt.pipeline.destinations.base import Loader, LoadStrategy
from snowmelt.pipeline.destinations.delta import DeltaLoader
from snowmelt.pipeline.destinations.files import FilesLoader
from snowmelt.pipeline.destinations.postgres import PostgresLoader
from snowmelt.pipeline.destinations.rest import SENT_DDL, RestLoader
from snowmelt.pipeline.destinations.snowmelt import (
    DEAD_LETTERS_DDL,
    RAW_DDL,
    READINGS_DDL,
    ChannelLoader,
    DeadLetterLoader,
    RawLoader,
    ReadingsLoader,
    TableLoader,
)
from snowmelt.pipeline.destinations.tables import SqlLoader, load_statements
from snowmelt.pipeline.endpoints import Endpoint, endpoint_of, read_endpoints
from snowmelt.pipeline.gating import Gate, GateResult, check_gates
from snowmelt.pipeline.making import make_extractor, make_loader
from snowmelt.pipeline.problems import SourceRefusedError, SourceUnavailableError
from snowmelt.pipeline.records import Batch, Record, Rejected, RejectedRecordError, Rows, Whole
from snowmelt.pipeline.running import Flow, FlowResult, run_flow
from snowmelt.pipeline.schemas import Field, FollowSchema, SchemaDriftError, SchemaPolicy, infer_fields
from snowmelt.pipeline.sources.base import Extractor
from snowmelt.pipeline.sources.databases import DatabaseExtractor, MysqlExtractor
from snowmelt.pipeline.sources.files import FilesExtractor
from snowmelt.pipeline.sources.kafka import KafkaExtractor
from snowmelt.pipeline.sources.paging import (
    CursorPaging,
    LinkPaging,
    NoPaging,
    OffsetPaging,
    PageNumberPaging,
    Paging,
)
from snowmelt.pipeline.sources.postgres import PostgresExtractor
from snowmelt.pipeline.sources.requesting import ApiKeyAuth, BearerAuth
from snowmelt.pipeline.sources.rest import RestExtractor
from snowmelt.pipeline.sources.snowmelt import SnowmeltExtractor
from snowmelt.pipeline.transforming import Chain, ProtectColumns, Transformed, Transformer

__all__ = [
    "DEAD_LETTERS_DDL",
    "RAW_DDL",
    "READINGS_DDL",
    "SENT_DDL",
    "ApiKeyAuth",
    "Batch",
    "BearerAuth",
    "Chain",
    "ChannelLoader",
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
    "endpoint_of",
    "infer_fields",
    "load_statements",
    "make_extractor",
    "make_loader",
    "read_endpoints",
    "run_flow",
]

"""What built projects extend: extractors, transformers and loaders, and the run that puts them together."""

from snowmelt.pipeline.destinations.base import Loader, LoadStrategy
from snowmelt.pipeline.destinations.snowmelt import (
    DEAD_LETTERS_DDL,
    RAW_DDL,
    ChannelLoader,
    DeadLetterLoader,
    RawLoader,
    TableLoader,
)
from snowmelt.pipeline.destinations.tables import SqlLoader, load_statements
from snowmelt.pipeline.endpoints import Endpoint, endpoint_of, read_endpoints
from snowmelt.pipeline.gating import Gate, GateResult, check_gates
from snowmelt.pipeline.problems import SourceRefusedError, SourceUnavailableError
from snowmelt.pipeline.records import Batch, Record, Rejected, RejectedRecordError, Whole
from snowmelt.pipeline.running import Flow, FlowResult, run_flow
from snowmelt.pipeline.schemas import Field, FollowSchema, SchemaDriftError, SchemaPolicy, infer_fields
from snowmelt.pipeline.sources.base import Extractor
from snowmelt.pipeline.sources.databases import DatabaseExtractor, MysqlExtractor, PostgresExtractor
from snowmelt.pipeline.sources.files import FilesExtractor
from snowmelt.pipeline.transforming import Chain, ProtectColumns, Transformer

__all__ = [
    "DEAD_LETTERS_DDL",
    "RAW_DDL",
    "Batch",
    "Chain",
    "ChannelLoader",
    "DatabaseExtractor",
    "DeadLetterLoader",
    "Endpoint",
    "Extractor",
    "Field",
    "FilesExtractor",
    "Flow",
    "FlowResult",
    "FollowSchema",
    "Gate",
    "GateResult",
    "LoadStrategy",
    "Loader",
    "MysqlExtractor",
    "PostgresExtractor",
    "ProtectColumns",
    "RawLoader",
    "Record",
    "Rejected",
    "RejectedRecordError",
    "SchemaDriftError",
    "SchemaPolicy",
    "SourceRefusedError",
    "SourceUnavailableError",
    "SqlLoader",
    "TableLoader",
    "Transformer",
    "Whole",
    "check_gates",
    "endpoint_of",
    "infer_fields",
    "load_statements",
    "read_endpoints",
    "run_flow",
]

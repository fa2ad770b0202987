"""What built projects extend: extractors, transformers and loaders, and the run that puts them together."""

from snowmelt.pipeline.extracting import Batch, Extractor, FilesExtractor, PostgresExtractor, Record
from snowmelt.pipeline.gating import Gate, GateResult, check_gates
from snowmelt.pipeline.loading import DeadLetterLoader, Loader, LoadStrategy, RawLoader, SqlLoader, load_statements
from snowmelt.pipeline.running import Flow, FlowResult, run_flow
from snowmelt.pipeline.transforming import Chain, ProtectColumns, RejectedRecordError, Transformer

__all__ = [
    "Batch",
    "Chain",
    "DeadLetterLoader",
    "Extractor",
    "FilesExtractor",
    "Flow",
    "FlowResult",
    "Gate",
    "GateResult",
    "LoadStrategy",
    "Loader",
    "PostgresExtractor",
    "ProtectColumns",
    "RawLoader",
    "Record",
    "RejectedRecordError",
    "SqlLoader",
    "Transformer",
    "check_gates",
    "load_statements",
    "run_flow",
]

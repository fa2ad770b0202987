"""The texts of TPC-DS's queries, which are not in this repository.

SNOWMELT_TPCDS names a folder with one file `q<number>.sql` for each, with values in place of its parameters, as
databricks/spark-sql-perf has them (`src/main/resources/tpcds_2_4`). What is Spark's own in them
(names in quotes, intervals, texts that are added) becomes Snowflake's.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

VARIABLE = "SNOWMELT_TPCDS"
_INTERVAL = re.compile(r"interval\s+'?(\d+)'?\s+(day|month|year)s?", re.IGNORECASE)


def query_files() -> dict[str, Path]:
    folder = os.environ.get(VARIABLE)
    found = sorted(Path(folder).glob("q*.sql"), key=lambda path: _order(path.stem)) if folder else []
    return {path.stem: path for path in found}


def _order(name: str) -> tuple[int, str]:
    return int(re.sub(r"\D", "", name) or 0), name


def query_text(path: Path) -> str:
    text = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("--")).strip()
    text = text.replace("`", '"').replace("+ ', ' +", "|| ', ' ||")
    return _INTERVAL.sub(r"INTERVAL '\1 \2'", text).rstrip(";")

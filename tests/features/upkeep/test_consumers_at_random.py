"""Random lives of tables with streams and dynamic tables over them, on Spark: none of them notices upkeep."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import rule, run_state_machine_as_test

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from tests.conftest import SPARK
from tests.features.upkeep.test_nothing_needed_goes import UPKEEP, Rows, Upkeeping, names

EXTENSION = timedelta(days=14)
QUERIES = {
    "ROWS_OF": "SELECT id, n FROM {0} WHERE MOD(id, 3) <> 0",
    "COUNTS_OF": "SELECT n, COUNT(*) AS c FROM {0} GROUP BY n",
}


class Consuming(Upkeeping):
    def __init__(self) -> None:
        super().__init__()
        self.refreshed_at: dict[str, tuple[datetime, Rows]] = {}
        """By source of dynamic tables: when they were refreshed, and what the source had then."""

    def opened(self) -> Account:
        account = open_account(self.folder, settings=Settings(spark=SPARK, upkeep=UPKEEP), clock=self.clock)
        self.session = account.session()
        return account

    @rule(name=names)
    def create_dynamic_tables(self, name: str) -> None:
        if self.live(name):
            for kind, query in QUERIES.items():
                self.session.execute(
                    f"CREATE OR REPLACE DYNAMIC TABLE {kind}_{name} TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH "
                    f"REFRESH_MODE = INCREMENTAL AS {query.format(name)}"
                )
            self.refreshed_at[name] = (self.clock.now(), self.past[name].now)

    @rule(name=names)
    def refresh(self, name: str) -> None:
        if name in self.refreshed_at and self.live(name):
            self.clock.advance(timedelta(seconds=1))
            for kind in QUERIES:
                self.session.execute(f"ALTER DYNAMIC TABLE {kind}_{name} REFRESH")
            self.refreshed_at[name] = (self.clock.now(), self.past[name].now)
            self.check_dynamic_tables(name)

    @rule()
    def upkeep(self) -> None:
        super().upkeep()
        for name in self.refreshed_at:
            if self.live(name):
                self.check_dynamic_tables(name)
        for stream, (name, since, before) in self.offsets.items():
            if self.live(name) and self.clock.now() < since + EXTENSION:
                self.check_stream(stream, before, self.past[name].now)

    def found(self, query: str) -> Counter[tuple[object, ...]]:
        return Counter(tuple(row) for row in self.session.execute(query).rows())

    def check_dynamic_tables(self, name: str) -> None:
        """They hold what their queries gave when they were refreshed, and can be asked whether they do."""
        at, source = self.refreshed_at[name]
        some = Counter({row: count for row, count in source.items() if row[0] % 3})
        assert self.found(f"SELECT id, n FROM ROWS_OF_{name}") == some
        counts: Counter[int] = Counter()
        for row, count in source.items():
            counts[row[1]] += count
        assert self.found(f"SELECT n, c FROM COUNTS_OF_{name}") == Counter(counts.items())
        for kind in QUERIES:
            try:
                answer = self.session.execute(f"SELECT SYSTEM$CHECK_DYNAMIC_TABLE('{kind}_{name}')").rows()
            except SnowmeltError as error:
                assert "gone" in str(error) and self.clock.now() >= at + EXTENSION, error
            else:
                assert json.loads(str(answer[0][0]))["equal"] is True

    def check_stream(self, stream: str, before: Rows, now: Rows) -> None:
        """What a row of the model is called is its own for ever: the net changes are what differs."""
        expected = Counter({("INSERT", *row): count for row, count in (now - before).items()})
        expected += Counter({("DELETE", *row): count for row, count in (before - now).items()})
        assert self.found(f"SELECT METADATA$ACTION, id, n FROM {stream}") == expected


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_consumers_do_not_notice(shared_account: Account) -> None:
    shared_account.engine.session()  # the one Spark of all tests
    chosen = settings(
        max_examples=10, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
    )  # fmt: skip
    run_state_machine_as_test(Consuming, settings=chosen)

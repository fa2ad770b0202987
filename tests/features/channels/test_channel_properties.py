"""Whatever the batches, commits, losses and repetitions: the table has every row that was sent, once."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from snowmelt.accounts import open_account
from snowmelt.features.channels import compaction
from snowmelt.ingest import Channel
from tests.features.channels.conftest import Lake

_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("rows"), st.integers(1, 30)),
        st.tuples(st.just("row"), st.integers(1, 5)),
        st.tuples(st.just("arrow"), st.integers(1, 40)),
        st.tuples(st.just("flush"), st.just(0)),
        st.tuples(st.just("commit"), st.just(0)),
        # The writer dies and another one opens the channel: what was not committed is lost, and sent again.
        st.tuples(st.just("lose"), st.just(0)),
        st.tuples(st.just("compact"), st.just(0)),
    ),
    max_size=15,
)


class Writer:
    """Sends the numbers 0, 1, 2, …; every seventh is bad. Its offset token is the last number sent."""

    def __init__(self, lake: Lake, name: str) -> None:
        self.lake = lake
        self.name = name
        self.most = 0
        """Numbers below this were sent, if perhaps not for good."""
        self.open()

    def open(self) -> None:
        self.channel: Channel = self.lake.client().open_channel(self.name, "t")
        token = self.channel.get_latest_committed_offset_token()
        self.next = 0 if token is None else int(token) + 1

    def numbers(self, count: int) -> list[int]:
        numbers = list(range(self.next, self.next + count))
        self.next += count
        self.most = max(self.most, self.next)
        return numbers

    def step(self, action: str, count: int) -> None:
        """`count` rows, for the actions that send some."""
        numbers = self.numbers(count)
        match action:
            case "rows":
                self.channel.insert_rows([self.row(number) for number in numbers], str(numbers[-1]))
            case "row":
                for number in numbers:
                    self.channel.insert_row(self.row(number), str(number))
            case "arrow":
                rows = pa.Table.from_pylist([self.row(number) for number in numbers])
                self.channel.append_rows(rows, offset_token=str(numbers[-1]))
            case "flush":
                self.channel.initiate_flush()
            case "commit":
                assert self.channel.wait_for_flush(60)
            case "lose":
                self.open()
            case "compact":
                compaction.compact(self.lake.account, self.lake.table("T").id, fewest=2)

    def row(self, number: int) -> dict[str, object]:
        return {"channel": self.name, "id": None if number % 7 == 6 else number, "raw": str(number)}

    def finish(self) -> None:
        if self.next < self.most:
            self.step("rows", self.most - self.next)
        assert self.channel.wait_for_flush(60)
        self.channel.close()


@given(one=_STEPS, two=_STEPS)
@settings(max_examples=8, deadline=None)
def test_every_row_once(one: list[tuple[str, int]], two: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as made, open_account(Path(made) / "data") as account:
        lake = Lake(account, account.session())
        lake.run("CREATE TABLE t (channel VARCHAR, id INT NOT NULL, raw VARCHAR)")
        writers = [Writer(lake, "one"), Writer(lake, "two")]
        for index in range(max(len(one), len(two))):
            for writer, steps in zip(writers, (one, two), strict=True):
                if index < len(steps):
                    writer.step(*steps[index])
        for writer in writers:
            writer.finish()
        _check(lake, writers)


def _check(lake: Lake, writers: list[Writer]) -> None:
    found = [(row["CHANNEL"], row["ID"]) for row in lake.rows("T")]
    wanted = [(writer.name, number) for writer in writers for number in range(writer.most) if number % 7 != 6]
    assert sorted(found) == sorted(wanted)
    bad = [(writer.name, str(number)) for writer in writers for number in range(writer.most) if number % 7 == 6]
    rejected = [(row["CHANNEL_NAME"], row["ROW_DATA"]["raw"]) for row in lake.rows("T_CHANNEL_ERRORS")] if bad else []
    assert sorted(rejected) == sorted(bad)

"""What quality checks cost: a gate beside a refresh without one, many checks beside scans, a key beside its table."""

from __future__ import annotations

from benchmarks.events import events
from benchmarks.measuring import Aim, Measure, Outcome, Samples, Work, side_by_side, timed
from benchmarks.workbench import Workbench

_CHANGED = 1_000_000
_BASE = 5_000_000
_AIM_GATE = 1.2
_GATE_CHECKS = {
    "id_there": "NOT_NULL (id, customer)",
    "id_once": "UNIQUE (id)",
    "known": "ACCEPTED_VALUES (status) VALUES = ('new', 'paid', 'sent', 'returned')",
    "bounded": "RANGE (amount) MIN = 0 MAX = 100000",
    "recent": "RANGE (ordered) MIN = '2020-01-01'",
    "short": "LENGTH (status) MIN = 1 MAX = 10",
    "taxed": "EXPRESSION (gross >= amount)",
    "any_rows": "ROW_COUNT MIN = 1",
    "usual": "VOLUME SEVERITY = WARN",
    "sane": "MEAN (amount) MIN = 100 MAX = 10000",
}
_SCANNED = 5_000_000
_SCANS = 3
_LARGE, _GROWN, _FEW = 10_000_000, 10, 100
_AIM_KEY, _AIM_GROWTH, _AIM_MERGE = 0.25, 2.0, 1.5


def refresh(bench: Workbench) -> Outcome:
    """Of the changed rows half are new, a quarter are updated and a quarter deleted: anywhere in the table."""
    rows, changed = bench.rows(_BASE), bench.rows(_CHANGED)
    execute = bench.connection.execute
    bench.load(events("gate_source", rows, change_feed=True))
    for name in ("gate_open", "gate_checked"):
        bench.step(f"creating {name}")
        execute(
            f"CREATE DYNAMIC TABLE {name} TARGET_LAG = '1 day' WAREHOUSE = COMPUTE_WH AS "
            "SELECT id, customer, status, amount, ordered, amount * 1.19 AS gross FROM gate_source"
        )
    for check, what in _GATE_CHECKS.items():
        execute(f"ALTER DYNAMIC TABLE gate_checked ADD QUALITY CHECK {check} AS {what}")
    taken: tuple[list[float], list[float]] = ([], [])
    rounds = bench.rounds(3)
    for number in range(1 + rounds):
        bench.step(f"changing {changed} rows, round {number + 1} of {rounds + 1}")
        _change(bench, number, rows, changed)
        order = (("gate_checked", 0), ("gate_open", 1))
        for name, side in order if number % 2 else order[::-1]:
            bench.step(f"refreshing {name}, round {number + 1} of {rounds + 1}")
            taken[side].append(timed(lambda _, name=name: execute(f"ALTER DYNAMIC TABLE {name} REFRESH"), 0)[1])
    sides = [Samples(tuple(side[1:]), tuple(side[:1])) for side in taken]
    measure = Measure(f"{changed} changed rows, {len(_GATE_CHECKS)} checks, beside none", *sides, _unequal(bench))
    ratio = measure.ratio or 0.0
    aim = Aim("gates cost less than 20 % of the refresh", f"{ratio - 1:.0%}", ratio < _AIM_GATE)
    return Outcome((measure,), (aim,), {"rows": rows, "changed": changed})


def _change(bench: Workbench, number: int, rows: int, changed: int) -> None:
    every = max(round(4 * rows / changed), 4)
    first = (number + 1) * 1_000_000_000
    for statement in (
        f"INSERT INTO gate_source SELECT id + {first}, customer, status, amount, ordered FROM gate_source "
        f"WHERE id < {changed // 2}",
        f"UPDATE gate_source SET amount = amount + 1 WHERE id < {rows} AND MOD(id, {every}) = {number % 4}",
        f"DELETE FROM gate_source WHERE id >= {changed // 2} AND id < {rows} AND MOD(id, {every}) = {number % 4 + 4}",
    ):
        bench.connection.execute(statement)


def _unequal(bench: Workbench) -> str | None:
    sums = "SELECT COUNT(*), SUM(id), SUM(gross) FROM"
    with_gate, without = (bench.snowmelt_rows(f"{sums} {name}") for name in ("gate_checked", "gate_open"))
    return None if with_gate == without else f"{with_gate} and {without}"


def fifty(bench: Workbench) -> Outcome:
    """All checks of a table, over all its rows, beside three queries of which each reads all columns once."""
    rows = bench.rows(_SCANNED)
    bench.load(events("much_checked", rows))
    checks = _fifty()
    for number, what in enumerate(checks):
        bench.connection.execute(f"ALTER TABLE much_checked ADD QUALITY CHECK c{number} AS {what}")

    def ours(_: int) -> int:
        return len(bench.snowmelt_rows("EXECUTE QUALITY CHECKS ON much_checked"))

    def theirs(_: int) -> int:
        for _number in range(_SCANS):
            bench.plain_rows(
                "SELECT MAX(id), MAX(customer), COUNT(status), MAX(amount), MAX(ordered), SUM(LENGTH(status)) "
                "FROM much_checked"
            )
        return len(checks)

    measure = side_by_side(
        f"{len(checks)} checks, beside {_SCANS} scans", ours, theirs, rounds=bench.rounds(5), warmup=2, step=bench.step,
        compare=lambda a, b: None if a == b else f"{a} results",
    )  # fmt: skip
    ratio = measure.ratio or 0.0
    aim = Aim(f"{len(checks)} checks cost less than {_SCANS} scans", f"{ratio * _SCANS:.1f} scans", ratio < 1)
    return Outcome((measure,), (aim,), {"rows": rows})


def _fifty() -> list[str]:
    numbers, all_columns = ("id", "customer", "amount"), ("id", "customer", "status", "amount", "ordered")
    return [
        *(f"NOT_NULL ({column})" for column in all_columns),
        *(f"RANGE ({column}) MIN = 0 MAX = 1000000000" for column in numbers),
        *(f"RANGE ({column}) MIN = -1" for column in numbers),
        "RANGE (ordered) MIN = '2020-01-01' MAX = '2030-01-01'",
        "ACCEPTED_VALUES (status) VALUES = ('new', 'paid', 'sent', 'returned')",
        "LENGTH (status) MIN = 1 MAX = 10",
        "PATTERN (status) PATTERN = '[a-z]+'",
        *(f"EXPRESSION (amount < {limit} OR status <> 'none')" for limit in range(1_000, 11_000, 1_000)),
        *(f"EXPRESSION (customer >= 0 AND id >= {limit})" for limit in range(-10, 0)),
        *(f"COMPLETENESS ({column}) MIN = 99" for column in all_columns),
        *(f"MEAN ({column}) MIN = 0" for column in numbers),
        *(f"STDDEV ({column}) MIN = 0" for column in numbers),
        "ROW_COUNT MIN = 1",
        "VOLUME",
        "SCHEMA VALUES = ('id NUMBER', 'status VARCHAR')",
        "QUANTILE (amount) QUANTILE = 0.95 MAX = 1000000",
    ]


def unique(bench: Workbench) -> Outcome:
    """A hundred rows come to a table whose key is checked: beside counting its distinct keys, and in a smaller one."""
    rows = bench.rows(_LARGE)
    small, large = (_inserted(bench, name, size) for name, size in (("keyed_few", rows // _GROWN), ("keyed", rows)))
    anywhere = _inserted(bench, "keyed_anywhere", rows, scattered=True)
    merged = _merged(bench, rows)
    share, growth, cost = large.ratio or 0.0, large.snowmelt.median / small.snowmelt.median, merged.ratio or 0.0
    between = anywhere.ratio or 0.0
    aims = (
        Aim(f"{_FEW} rows take less than {_AIM_KEY:g} of counting the keys", f"{share:.2f}", share < _AIM_KEY),
        Aim(f"the same for keys between those that are there (< {_AIM_KEY:g})", f"{between:.2f}", between < _AIM_KEY),
        Aim(
            f"at most {_AIM_GROWTH:g} times as long in {_GROWN} times the rows", f"{growth:.2f}", growth <= _AIM_GROWTH
        ),
        Aim(f"a MERGE of {_FEW} rows costs less than {_AIM_MERGE:g} times", f"{cost:.2f}", cost < _AIM_MERGE),
    )
    return Outcome((small, large, anywhere, merged), aims, {"rows": rows})


def _inserted(bench: Workbench, name: str, size: int, *, scattered: bool = False) -> Measure:
    bench.load(events(name, size, change_feed=True, scattered=scattered))
    bench.connection.execute(f"ALTER TABLE {name} ADD QUALITY CHECK once AS UNIQUE (id)")

    def ours(number: int) -> None:
        first = size + 1_000_000 * (number + 1)
        bench.connection.execute(
            f"INSERT INTO {name} SELECT {first} + SEQ4(), 1, 'new', 1, '2024-01-01' "
            f"FROM TABLE(GENERATOR(ROWCOUNT => {_FEW}))"
        )

    def theirs(_: int) -> None:
        bench.plain_rows(f"SELECT COUNT(id) - COUNT(DISTINCT id) FROM {name}")

    kind = "scattered keys" if scattered else "keys"
    label = f"INSERT of {_FEW} rows into {size} {kind}, beside counting them"
    return side_by_side(label, ours, theirs, rounds=bench.rounds(5), warmup=2, step=bench.step)


def _merged(bench: Workbench, size: int) -> Measure:
    """Anywhere in the table, so that all files are replaced; in a table without the check too."""
    bench.connection.execute("CREATE TABLE keyed_open CLONE keyed")
    bench.connection.execute("ALTER TABLE keyed_open DROP QUALITY CHECK once")

    def merge(name: str) -> Work[None]:
        def work(number: int) -> None:
            bench.connection.execute(
                f"MERGE INTO {name} t USING (SELECT SEQ4() * {size // _FEW} + {number} AS id "
                f"FROM TABLE(GENERATOR(ROWCOUNT => {_FEW}))) s ON t.id = s.id "
                "WHEN MATCHED THEN UPDATE SET amount = amount + 1"
            )

        return work

    label = f"MERGE of {_FEW} rows into {size}, beside one without the check"
    ours, theirs = merge("keyed"), merge("keyed_open")
    return side_by_side(label, ours, theirs, rounds=bench.rounds(5), warmup=2, step=bench.step)

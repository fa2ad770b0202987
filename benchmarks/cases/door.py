"""The Snowflake door: what HTTP adds to a statement, and a hundred connections at once."""

from __future__ import annotations

import json
import random
import secrets
import subprocess
import sys
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from benchmarks.door_load import statement
from benchmarks.events import events
from benchmarks.measuring import Aim, Measure, Outcome, Samples, quantile, side_by_side
from benchmarks.workbench import Workbench
from snowmelt.serve.app import HttpServer
from snowmelt.serve.credentials import load_credentials
from snowmelt.serve.run import Address, serving_beside

_CONNECTIONS = 100
_SECONDS, _PLAIN_SECONDS = 60, 30
_ROUNDS = 200
_AIM_MS = 15
_STATEMENTS_AIM = 500
_FEW, _FEW_SECONDS = 8, 30
_P50_AIM, _P95_AIM = 50, 200
_WARMUP = 5


def run(bench: Workbench) -> Outcome:
    """First one connection, beside the same statement in the process; then a hundred, beside Spark's own threads."""
    rows = bench.rows(100_000)
    bench.load(events("events", rows))
    bench.connection.execute("USE WAREHOUSE COMPUTE_WH")
    password = secrets.token_urlsafe(12)
    server = HttpServer(bench.account, load_credentials(bench.account.data_dir, password)[0])
    with serving_beside(server, Address(port=0)) as port:
        added = _added(bench, port, password, rows)
        crowd, facts = _crowd(bench, port, rows)
    over = added.snowmelt.median - (added.plain.median if added.plain is not None else 0)
    aims = (
        Aim(f"the door adds less than {_AIM_MS} ms at p50", f"{over:.1f} ms", over < _AIM_MS),
        Aim("no error with a hundred connections", str(facts["errors"]), facts["errors"] == 0),
        Aim(
            f"at least {_STATEMENTS_AIM} statements a second",
            str(facts["statements a second"]),
            float(facts["statements a second"]) >= _STATEMENTS_AIM,
        ),
    )
    return Outcome((added, crowd), aims, {"rows": rows, "connections": _CONNECTIONS, **facts})


def beside_loader(bench: Workbench) -> Outcome:
    """Eight connections that read six rows, while another one loads as fast as it can."""
    rows = bench.rows(1_000_000)
    bench.load(events("events", rows))
    execute = bench.connection.execute
    execute("CREATE OR REPLACE TABLE six (id INTEGER, name VARCHAR)")
    execute("INSERT INTO six VALUES " + ", ".join(f"({number}, 'n{number}')" for number in range(6)))
    execute("CREATE OR REPLACE TABLE loaded LIKE events")
    password = secrets.token_urlsafe(12)
    server = HttpServer(bench.account, load_credentials(bench.account.data_dir, password)[0])
    loads: list[float] = []
    ended = threading.Event()
    seconds = bench.rounds(_FEW_SECONDS)
    bench.step(f"{_FEW} connections and a loader for {seconds} s")
    with serving_beside(server, Address(port=0)) as port:
        loader = threading.Thread(target=_loading, args=(bench, ended, loads))
        loader.start()
        try:
            found = _sent(bench, port, _FEW, seconds, rows, "SELECT id, name FROM six ORDER BY id")
        finally:
            ended.set()
            loader.join()
    measure = Measure("SELECT of six rows, eight clients and a loader", Samples(tuple(found["ms"])))
    p50, p95 = measure.snowmelt.median, measure.snowmelt.p95
    aims = (
        Aim(f"p50 below {_P50_AIM} ms", f"{p50:.1f} ms", p50 < _P50_AIM),
        Aim(f"p95 below {_P95_AIM} ms", f"{p95:.1f} ms", p95 < _P95_AIM),
        Aim("no error", str(len(found["errors"])), not found["errors"]),
    )
    facts = {"rows of a load": rows, "loads": len(loads), "statements a second": round(len(found["ms"]) / seconds, 1)}
    return Outcome((measure,), aims, facts)


def _loading(bench: Workbench, ended: threading.Event, loads: list[float]) -> None:
    session = bench.account.session()
    while not ended.is_set():
        began = time.perf_counter()
        session.execute("INSERT INTO loaded SELECT id, customer, UPPER(status), amount * 2, ordered FROM events")
        loads.append(time.perf_counter() - began)
    session.close()


def _sent(bench: Workbench, port: int, connections: int, seconds: int, rows: int, *text: str) -> dict[str, Any]:
    """What clients in a process of their own found."""
    name = f"load_{uuid.uuid4().hex}"
    [[_, token]] = bench.snowmelt_rows(f"ALTER USER admin ADD PROGRAMMATIC ACCESS TOKEN {name}")
    command = [sys.executable, "-m", "benchmarks.door_load", str(port), token, str(connections), str(seconds)]
    done = subprocess.run([*command, str(rows), *text], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _added(bench: Workbench, port: int, password: str, rows: int) -> Measure:
    """Here the other side is Snowmelt itself, without HTTP: the difference is the door."""
    keys = random.Random(7).sample(range(rows), _WARMUP + bench.rounds(_ROUNDS))
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as http:
        data = {"LOGIN_NAME": "admin", "PASSWORD": password, "CLIENT_APP_ID": "bench"}
        token = http.post("/session/v1/login-request", json={"data": data}).json()["data"]["token"]

        def through(number: int) -> Any:
            body = {"sqlText": f"SELECT id, customer FROM events WHERE id = {keys[number]}"}
            address = f"/queries/v1/query-request?requestId={uuid.uuid4()}"
            answer = http.post(address, json=body, headers={"authorization": f'Snowflake Token="{token}"'}).json()
            return [[str(value) for value in row] for row in answer["data"]["rowset"]]

        def inside(number: int) -> Any:
            found = bench.snowmelt_rows(f"SELECT id, customer FROM events WHERE id = {keys[number]}")
            return [[str(value) for value in row] for row in found]

        return side_by_side(
            "one row by key: through the door, and in the process", through, inside, rounds=bench.rounds(_ROUNDS),
            warmup=_WARMUP, compare=lambda ours, theirs: None if ours == theirs else f"{ours} and {theirs}",
            step=bench.step,
        )  # fmt: skip


def _crowd(bench: Workbench, port: int, rows: int) -> tuple[Measure, dict[str, str | int | float]]:
    seconds = bench.rounds(_SECONDS)
    bench.step(f"{_CONNECTIONS} connections for {seconds} s")
    began = time.process_time()
    found = _sent(bench, port, _CONNECTIONS, seconds, rows)
    # Logging in is in it, which is a hundredth.
    taken = time.process_time() - began
    fresh_seconds = min(seconds, _PLAIN_SECONDS)
    bench.step(f"{_CONNECTIONS} connections for {fresh_seconds} s, each answer computed")
    bench.connection.execute("ALTER ACCOUNT SET USE_CACHED_RESULT = FALSE")
    fresh = _sent(bench, port, _CONNECTIONS, fresh_seconds, rows)
    bench.connection.execute("ALTER ACCOUNT UNSET USE_CACHED_RESULT")
    plain_seconds = min(seconds, _PLAIN_SECONDS)
    bench.step(f"{_CONNECTIONS} threads of Spark for {plain_seconds} s")
    plain = _plain_crowd(bench, rows, plain_seconds)
    facts: dict[str, str | int | float] = {
        "errors": len(found["errors"]) + len(fresh["errors"]),
        "statements a second": round(len(found["ms"]) / seconds, 1),
        "statements a second, each answer computed": round(len(fresh["ms"]) / fresh_seconds, 1),
        "p99 ms": round(quantile(found["ms"], 0.99)),
        "server's processor ms a statement": round(taken * 1000 / len(found["ms"]), 2),
        "clients' processor ms a statement": round(found["processor"] * 1000 / len(found["ms"]), 2),
        "statements a second of plain Spark": round(len(plain) / plain_seconds, 1),
        "p99 ms of plain Spark": round(quantile(plain, 0.99)),
    }
    return Measure(f"mixed, {_CONNECTIONS} at once", Samples(tuple(found["ms"])), Samples(tuple(plain))), facts


def _plain_crowd(bench: Workbench, rows: int, seconds: float) -> list[float]:
    taken: list[float] = []
    until = time.monotonic() + seconds

    def client(seed: int) -> None:
        chance = random.Random(seed)
        while time.monotonic() < until:
            began = time.perf_counter()
            bench.plain_rows(statement(chance, rows))
            taken.append((time.perf_counter() - began) * 1000)

    with ThreadPoolExecutor(_CONNECTIONS) as pool:
        list(pool.map(client, range(_CONNECTIONS)))
    return taken

"""A process that forks one for each simulated life. Threads, locks and time are replaced before all else."""

from __future__ import annotations

# ruff: noqa: E402 (what is below imports locks by their names)
from tests.simulation import faults, threads

threads.install()
faults.install()

import gc
import json
import os
import random
import sys
import traceback
from pathlib import Path
from typing import Any

import pandas  # noqa: F401  (pyarrow imports it at first use, which takes a second)

from snowmelt.accounts import open_account
from snowmelt.core.config import QuickMode, QuickSettings, Settings, UpkeepSettings
from snowmelt.engine.quick import lane
from snowmelt.state import ids
from tests.simulation import planted
from tests.simulation.model import Model
from tests.simulation.world import SCRIPT, SimulatedClock, World, WrongError

WRONG, FAILED = 87, 88
SETTINGS = Settings(
    quick=QuickSettings(mode=QuickMode.ALL),
    lock_timeout_seconds=30,
    upkeep=UpkeepSettings(every_seconds=20, small_files=4),
)


# Twenty looks a second at nothing would be most of what a simulation does.
lane._LOOK_SECONDS = 10.0


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _in_child(order)
        _, status = os.waitpid(pid, 0)
        print(json.dumps({"status": os.waitstatus_to_exitcode(status)}), flush=True)


def _in_child(order: dict[str, Any]) -> None:
    sys.stdin.close()
    output = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    gc.disable()
    code = 0
    try:
        (live if order["life"] else prepare)(order)
    except WrongError as problem:
        print(f"WRONG {problem}", flush=True)
        code = WRONG
    except BaseException:
        traceback.print_exc()
        code = FAILED
    finally:
        sys.stdout.flush()
        os._exit(code)


def simulated(name: str, restless: float) -> threads.Simulator:
    """From now on chance, time and the order of threads are the name's."""
    ids._chance.seed(name)
    random.seed(name)
    threads.put(os, urandom=random.Random(f"{name} names").randbytes)
    simulator = threads.Simulator(name, restless=restless)
    threads.activate(simulator)
    return simulator


def prepare(order: dict[str, Any]) -> None:
    """The folder that every seed begins with a copy of."""
    simulated("template", 0.0)
    with open_account(order["data"], settings=SETTINGS, clock=SimulatedClock()) as account:
        session = account.session()
        for statement in SCRIPT.split(";\n"):
            if statement.strip():
                session.execute(statement.strip())
        session.close()


def live(order: dict[str, Any]) -> None:
    seed, life = f"{order['seed']}", order["life"]
    name = f"{seed} {life}"
    chance = random.Random(name)
    simulator = simulated(name, chance.choice((0.02, 0.1, 0.3)))
    # Later than in the life before, which the account has seen.
    simulator.now += 100_000.0 * life
    simulator.log = [] if order["trace"] else None
    plan = faults.Plan.of(chance, simulator, crashes=not order["last"])
    faults.begin(plan)
    planted.plant(order["bug"])
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    model = Model()
    for line in Path(order["log"]).read_text().splitlines():
        model.apply(json.loads(line))
    try:
        account = open_account(order["data"], settings=SETTINGS, clock=SimulatedClock())
        world = World(account, name, life, model, log)
        world.check_recovered()
        plan.armed = True
        world.live(seconds=chance.choice((20.0, 60.0, 150.0)))
        plan.armed = False
        if order["last"]:
            world.check_at_rest()
            account.close()
        if account.engine.started.is_set():
            raise WrongError("Spark was started")
    finally:
        print(f"steps {simulator.steps} switches {simulator.switches} digest {simulator.digest.hexdigest()}"
              f" faults {plan.done}", flush=True)  # fmt: skip
        if simulator.log is not None:
            Path(order["trace"]).write_text("\n".join(simulator.log))


if __name__ == "__main__":
    main()

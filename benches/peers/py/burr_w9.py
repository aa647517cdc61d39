"""python burr_w9.py w9|w9d [N]: the loop of W9 as a Burr application of three actions; `w9d` with its SQLite persister, which
writes the state after every action. N iterations, fifty to a run.
"""
import os
import sqlite3
import sys
import tempfile

os.environ["BURR_TELEMETRY"] = "false"
os.environ["DO_NOT_TRACK"] = "1"
from burr.core import ApplicationBuilder, State, action, default, expr
from burr.core.persistence import SQLitePersister

from measure import Report, timed

WORKLOAD = sys.argv[1]
REPORT = Report("burr", WORKLOAD)
ROUNDS = 50
RUNS = max(1, int(float(sys.argv[2])) // ROUNDS) if len(sys.argv) > 2 else 4


@action(reads=["i"], writes=["action"])
def select(state: State) -> State:
    return state.update(action=state["i"])


@action(reads=["action"], writes=["result"])
def execute(state: State) -> State:
    return state.update(result=state["action"] * 2)


@action(reads=["i", "max", "result", "log"], writes=["done", "i", "log"])
def evaluate(state: State) -> State:
    done = state["i"] + 1 >= state["max"]
    return state.update(done=done, i=state["i"] + 1).append(log=state["result"])


@action(reads=[], writes=[])
def finish(state: State) -> State:
    return state


def play(number, persister):
    builder = (
        ApplicationBuilder()
        .with_actions(select=select, execute=execute, evaluate=evaluate, finish=finish)
        .with_transitions(("select", "execute"), ("execute", "evaluate"), ("evaluate", "finish", expr("done")),
                          ("evaluate", "select", default))
        .with_state(i=0, max=ROUNDS, action=None, result=None, done=False, log=[])
        .with_entrypoint("select"))
    if persister:
        builder = builder.with_identifiers(app_id=str(number), partition_key="bench").with_state_persister(persister)
    _, _, end = builder.build().run(halt_after=["finish"])
    REPORT.check("rounds, last of the log", (end["i"], end["log"][-1]), (ROUNDS, 2 * (ROUNDS - 1)))


def measure(persister):
    play("warm", persister)
    spent = timed(lambda: [play(number, persister) for number in range(RUNS)])
    REPORT.each("us_per_iteration", "us", 1e3, spent, RUNS * ROUNDS)


if WORKLOAD == "w9":
    measure(None)
else:
    # Beside the environment's own files: a temporary directory may be no disk at all.
    with tempfile.TemporaryDirectory(dir=os.path.dirname(sys.prefix)) as place:
        persister = SQLitePersister(db_path=os.path.join(place, "burr.db"), table_name="state")
        persister.initialize()
        persister.connection.execute("pragma synchronous=full")
        measure(persister)
        # Another connection reads the rows on disk.
        kept = sqlite3.connect(os.path.join(place, "burr.db")).execute("select count(*) from state").fetchone()[0]
        REPORT.check("states on disk", kept >= 3 * ROUNDS * (RUNS + 1), True)

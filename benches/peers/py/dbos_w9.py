"""python dbos_w9.py w9d [N]: the loop of W9 as a DBOS workflow of three steps on its SQLite system database, which records
the result of every step before the next one. N iterations, fifty to a workflow.
"""
import logging
import os
import sqlite3
import sys
import tempfile

from dbos import DBOS

from measure import Report, timed

WORKLOAD = sys.argv[1]
REPORT = Report("dbos", WORKLOAD)
ROUNDS = 50
RUNS = max(1, int(float(sys.argv[2])) // ROUNDS) if len(sys.argv) > 2 else 4


@DBOS.step()
def select(i):
    return i


@DBOS.step()
def execute(argument):
    return argument * 2


@DBOS.step()
def evaluate(i, rounds):
    return i + 1 >= rounds


@DBOS.workflow()
def loop(rounds):
    i, log, done = 0, [], False
    while not done:
        log.append(execute(select(i)))
        done = evaluate(i, rounds)
        i += 1
    return i, log[-1]


def play():
    REPORT.check("rounds, last of the log", tuple(loop(ROUNDS)), (ROUNDS, 2 * (ROUNDS - 1)))


# Beside the environment's own files: a temporary directory may be no disk at all.
with tempfile.TemporaryDirectory(dir=os.path.dirname(sys.prefix)) as place:
    logging.disable(logging.CRITICAL)
    path = os.path.join(place, "dbos.db")
    DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{path}"})
    DBOS.launch()
    play()
    spent = timed(lambda: [play() for _ in range(RUNS)])
    REPORT.each("us_per_iteration", "us", 1e3, spent, RUNS * ROUNDS)
    # Another connection reads the rows on disk.
    kept = sqlite3.connect(path).execute("select count(*) from operation_outputs").fetchone()[0]
    REPORT.check("steps on disk", kept >= 3 * ROUNDS * (RUNS + 1), True)
    DBOS.destroy()

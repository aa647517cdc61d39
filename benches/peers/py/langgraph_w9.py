"""python langgraph_w9.py w9|w9d [N]: the loop of W9 as a graph of three nodes; `w9d` with its SQLite checkpointer told to write
before it goes on. N iterations, fifty to a run.
"""
import operator
import os
import sqlite3
import sys
import tempfile
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from measure import Report, timed

WORKLOAD = sys.argv[1]
REPORT = Report("langgraph", WORKLOAD)
ROUNDS = 50
RUNS = max(1, int(float(sys.argv[2])) // ROUNDS) if len(sys.argv) > 2 else 4


class Loop(TypedDict):
    i: int
    max: int
    action: Any
    result: Any
    done: bool
    log: Annotated[list, operator.add]


def graph(saver):
    builder = StateGraph(Loop)
    builder.add_node("select", lambda state: {"action": state["i"]})
    builder.add_node("execute", lambda state: {"result": state["action"] * 2})
    builder.add_node("evaluate", lambda state: {
        "done": state["i"] + 1 >= state["max"], "i": state["i"] + 1, "log": [state["result"]]})
    builder.add_edge(START, "select")
    builder.add_edge("select", "execute")
    builder.add_edge("execute", "evaluate")
    builder.add_conditional_edges("evaluate", lambda state: END if state["done"] else "select")
    return builder.compile(checkpointer=saver)


def play(app, number, options):
    begin = {"i": 0, "max": ROUNDS, "action": None, "result": None, "done": False, "log": []}
    config = {"configurable": {"thread_id": str(number)}, "recursion_limit": 10 * ROUNDS}
    end = app.invoke(begin, config, **options)
    REPORT.check("rounds, last of the log", (end["i"], end["log"][-1]), (ROUNDS, 2 * (ROUNDS - 1)))


def measure(app, options):
    play(app, "warm", options)
    spent = timed(lambda: [play(app, number, options) for number in range(RUNS)])
    REPORT.each("us_per_iteration", "us", 1e3, spent, RUNS * ROUNDS)


if WORKLOAD == "w9":
    measure(graph(None), {})
else:
    # Beside the environment's own files: a temporary directory may be no disk at all.
    with tempfile.TemporaryDirectory(dir=os.path.dirname(sys.prefix)) as place:
        connection = sqlite3.connect(os.path.join(place, "langgraph.db"), check_same_thread=False)
        saver = SqliteSaver(connection)
        saver.setup()
        connection.execute("pragma synchronous=full")
        measure(graph(saver), {"durability": "sync"})

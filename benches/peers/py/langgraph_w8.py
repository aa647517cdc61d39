"""python langgraph_w8.py w8 [N]: a one-node graph that counts, its SQLite checkpointer told to write before it answers.

An event is one `invoke`; one thread of conversation in sequence, then 64 at once.
"""
import os
import sqlite3
import sys
import tempfile
import threading
import time
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from measure import Report

REPORT = Report("langgraph", sys.argv[1])
COUNT = int(float(sys.argv[2])) if len(sys.argv) > 2 else 1_280
CONVERSATIONS = 64


class Counter(TypedDict):
    count: int


def graph(path):
    connection = sqlite3.connect(path, check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()
    connection.execute("pragma synchronous=full")
    builder = StateGraph(Counter)
    builder.add_node("inc", lambda state: {"count": state["count"] + 1})
    builder.add_edge(START, "inc")
    builder.add_edge("inc", END)
    return builder.compile(checkpointer=saver)


def increment(app, conversation, times):
    count = 0
    config = {"configurable": {"thread_id": str(conversation)}}
    for _ in range(times):
        count = app.invoke({"count": count}, config, durability="sync")["count"]
    REPORT.check("a count", count, times)


def rate(work, events):
    start = time.perf_counter()
    work()
    return events / (time.perf_counter() - start)


def many(app, each):
    threads = [threading.Thread(target=increment, args=(app, i, each)) for i in range(1, CONVERSATIONS + 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# Beside the environment's own files: a temporary directory may be no disk at all.
with tempfile.TemporaryDirectory(dir=os.path.dirname(sys.prefix)) as place:
    app = graph(os.path.join(place, "langgraph.db"))
    alone = COUNT // 5
    REPORT.amount("events_per_s_1", rate(lambda: increment(app, 0, alone), alone), "1/s", alone)
    each = COUNT // CONVERSATIONS
    events = each * CONVERSATIONS
    REPORT.amount("events_per_s_64", rate(lambda: many(app, each), events), "1/s", events)

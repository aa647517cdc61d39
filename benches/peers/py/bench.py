"""python bench.py sismic|transitions|python-statemachine WORKLOAD [N]"""
import gc
import importlib
import logging
import sys

from charts import w5_end, w5_events
from measure import Report, resident_bytes, timed

logging.disable(logging.CRITICAL)
PEER, WORKLOAD = sys.argv[1:3]
COUNT = int(float(sys.argv[3])) if len(sys.argv) > 3 else None
LIBRARY = importlib.import_module("peer_" + PEER.replace("-", "_"))
REPORT = Report(PEER, WORKLOAD)


def send_many(peer, event, n):
    def run():
        send = peer.send
        for _ in range(n):
            send(event)
    REPORT.each("ns_per_event", "ns", 1, timed(run), n)


def w1():
    n = COUNT or 20_000
    peer = LIBRARY.Peer("w1")
    send_many(peer, "TOGGLE", n)
    REPORT.check("the state", peer.leaves(), ["on" if n % 2 else "off"])


def w2():
    n = COUNT or 20_000
    peer = LIBRARY.Peer("w2", {"limit": n})
    send_many(peer, "INC", n)
    REPORT.check("done, count", (peer.done(), peer.context("count")), (True, n))


def w3():
    n = COUNT or 2_000
    peer = LIBRARY.Peer("w3")
    send_many(peer, "STEP", n)
    leaf = ["A_x", "A_y", "B_x", "B_y"][n % 4]
    REPORT.check("the states", peer.leaves(), [f"r{region}_{leaf}" for region in range(4)])


def w4():
    n = COUNT or 1_000
    peer = LIBRARY.Peer("w4")
    send_many(peer, "FLIP", n)
    entered = 12 * (n + LIBRARY.STARTS_ENTERED)
    REPORT.check("entered, exited", (peer.context("entered"), peer.context("exited")), (entered, 12 * n))


def w4b():
    n = COUNT or 5_000
    peer = LIBRARY.Peer("w4")
    send_many(peer, "TICK", n)
    entered = 12 * LIBRARY.STARTS_ENTERED
    REPORT.check("ticks, entered", (peer.context("ticks"), peer.context("entered")), (n, entered))


def w5():
    n = COUNT or 10_000
    load = timed(lambda: LIBRARY.Peer("w5"))
    REPORT.each("load_ms", "ms", 1e6, load, 1)
    peer, events = load[2], list(w5_events(n))

    def run():
        send = peer.send
        for event in events:
            send(event)
    REPORT.each("ns_per_event", "ns", 1, timed(run), n)
    REPORT.check("the state", peer.leaves(), [w5_end(n)])


def w7():
    n = COUNT or 20_000
    peer = LIBRARY.Peer("w2")
    for _ in range(100):
        peer.another()
    gc.collect()
    before = resident_bytes()
    wall, _, kept = timed(lambda: [peer.another() for _ in range(n)])
    gc.collect()
    REPORT.amount("bytes_each", (resident_bytes() - before) / n, "B", n)
    REPORT.amount("created_per_s", n / (wall / 1e9), "1/s", n)
    REPORT.check("instances kept", len(kept), n)


{"w1": w1, "w2": w2, "w3": w3, "w4": w4, "w4b": w4b, "w5": w5, "w7": w7}[WORKLOAD]()

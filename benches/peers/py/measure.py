"""Timing, the protocol's JSON lines, and the "must hold afterwards" checks."""
import json
import re
import sys
import time


def timed(work):
    """(wall ns, CPU ns, result)"""
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    result = work()
    return time.perf_counter_ns() - wall, time.process_time_ns() - cpu, result


class Report:
    def __init__(self, peer, workload):
        self.peer, self.workload = peer, workload

    def amount(self, metric, value, unit, n, cpu=None):
        print(json.dumps({"peer": self.peer, "w": self.workload.upper(), "metric": metric, "value": value, "cpu": cpu,
                          "unit": unit, "n": n}), flush=True)

    def each(self, metric, unit, ns_per_unit, spent, n):
        wall, cpu, _ = spent
        self.amount(metric, wall / n / ns_per_unit, unit, n, cpu / n / ns_per_unit)

    def check(self, what, got, want):
        if got != want:
            sys.exit(f"{self.peer} {self.workload}: {what} is {got}, must be {want}")


def resident_bytes():
    return int(re.search(r"VmRSS:\s+(\d+)", open("/proc/self/status").read())[1]) * 1024

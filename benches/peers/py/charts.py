"""The charts, small helpers for walking them, and the event stream of W5."""
import json
import pathlib
import re

CHARTS = pathlib.Path(__file__).resolve().parents[2] / "charts"


def read(name):
    return json.loads((CHARTS / f"{name}.json").read_text())["statechart"]


def as_list(x):
    return [] if x is None else x if isinstance(x, list) else [x]


def children(state):
    """Child states as (key, state): a parallel state's regions, or what `states` holds."""
    if state.get("regions"):
        return [(region["id"], region) for region in state["regions"]]
    return list((state.get("states") or {}).items())


def transitions(state):
    """(event, transition) in document order; the event of an eventless one is None."""
    for event, listed in (state.get("on") or {}).items():
        for transition in as_list(listed):
            yield event, transition
    for transition in as_list(state.get("always")):
        yield None, transition


def updates(chart, names):
    """(key, expression text) for every assignment of these actions."""
    return [pair for name in as_list(names) for pair in chart["actions"][name]["context_updates"].items()]


def bare(expression):
    """The expression for libraries in which context keys are plain variables."""
    return expression.replace("context.", "")


def compiled(expression):
    """The expression as a function of a context dictionary."""
    return eval("lambda context: " + re.sub(r"context\.(\w+)", r"context['\1']", expression))


def w5_events(n):
    x = 42
    for _ in range(n):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
        yield "JUMP" if x >> 31 else "NEXT"


def w5_end(n):
    state = 0
    for event in w5_events(n):
        state = (state * 7 + 3 if event == "JUMP" else state + 1) % 1000
    return f"s{state}"

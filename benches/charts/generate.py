#!/usr/bin/env python3
"""Write the benchmark charts beside this file: `python3 benches/charts/generate.py [--check]`.

Every state key is unique in its chart, so that the peers' rules for looking up a target all agree.
`--check` writes nothing and fails if a chart differs from what would be written.
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent


def chart(id, initial, states, context=None, actions=None):
    return {"statechart": {"id": id, "version": "1.0.0", "initial": initial, "context": context or {},
                           "states": states, "actions": actions or {}}}


def increment(key):
    return {"type": "assign", "context_updates": {key: f"context.{key} + 1"}}


def w1():
    """A light switch: the least a chart can do."""
    return chart("w1", "off", {
        "off": {"type": "atomic", "on": {"TOGGLE": {"target": "on"}}},
        "on": {"type": "atomic", "on": {"TOGGLE": {"target": "off"}}}})


def w2():
    """A counter: a guard, an assign and an eventless transition at every event."""
    counting = {
        "type": "atomic",
        "on": {"INC": {"guard": "context.count < context.limit", "actions": ["inc"]}},
        "always": [{"target": "done", "guard": "context.count >= context.limit"}]}
    return chart("w2", "counting", {"counting": counting, "done": {"type": "final"}},
                 {"count": 0, "limit": 1000000}, {"inc": increment("count")})


def w3():
    """Four regions, each three deep, that all move at every STEP."""
    def half(region, name, other):
        x, y, m = (f"{region}_{name}_{part}" for part in "xym")
        leaves = {x: {"type": "atomic", "on": {"STEP": {"target": y}}},
                  y: {"type": "atomic", "on": {"STEP": {"target": f"{region}_{other}"}}}}
        return {"type": "compound", "initial": m,
                "states": {m: {"type": "compound", "initial": x, "states": leaves}}}

    regions = [{"id": r, "initial": f"{r}_A", "states": {f"{r}_A": half(r, "A", "B"), f"{r}_B": half(r, "B", "A")}}
               for r in ("r0", "r1", "r2", "r3")]
    return chart("w3", "P", {
        "P": {"type": "parallel", "regions": regions, "on": {"STOP": {"target": "stopped"}}},
        "stopped": {"type": "final"}},
        {"steps": 0, "label": "bench", "items": [1, 2, 3]})


def w4():
    """Two towers of twelve states with entry and exit actions; FLIP at the top goes from one to the other."""
    def tower(name, other, level=1):
        state = {"entry": ["inc_entered"], "exit": ["inc_exited"]}
        if level == 1:
            state["on"] = {"FLIP": {"target": f"{other}1"}, "TICK": {"actions": ["inc_ticks"]}}
        if level == 12:
            return state | {"type": "atomic"}
        below = f"{name}{level + 1}"
        return state | {"type": "compound", "initial": below, "states": {below: tower(name, other, level + 1)}}

    return chart("w4", "a1", {"a1": tower("a", "b"), "b1": tower("b", "a")},
                 {"entered": 0, "exited": 0, "ticks": 0},
                 {"inc_entered": increment("entered"), "inc_exited": increment("exited"),
                  "inc_ticks": increment("ticks")})


def w5(n=1000):
    """A thousand states with two transitions each: does the cost grow with the chart?"""
    return chart("w5", "s0", {f"s{i}": {"type": "atomic", "on": {
        "NEXT": {"target": f"s{(i + 1) % n}"}, "JUMP": {"target": f"s{(i * 7 + 3) % n}"}}} for i in range(n)})


def w9():
    """The loop of an orchestrator: choose, work, judge, until the judge is content. Whoever is invoked answers at once."""
    def asks(id, target, action, inputs, again=None):
        done = {"target": target, "actions": [action]}
        if again:
            done = [done | {"guard": "event.data.done"}, {"target": again, "actions": [action]}]
        return {"type": "atomic", "invoke": {"id": id, "src": f"agent:{id}", "input": inputs, "onDone": done}}

    def take(key, expression):
        return {"type": "assign", "context_updates": {key: expression}}

    log = take("i", "context.i + 1")
    log["context_updates"]["log"] = "append(context.log, context.result)"
    return chart("w9", "select", {
        "select": asks("llm", "execute", "set_action", {"i": "context.i"}),
        "execute": asks("tool", "evaluate", "set_result", {"arg": "context.action"}),
        "evaluate": asks("judge", "done", "next", {"i": "context.i", "max": "context.max", "result": "context.result"},
                         again="select"),
        "done": {"type": "final"}},
        {"i": 0, "max": 50, "action": None, "result": None, "log": []},
        {"set_action": take("action", "event.data.action"), "set_result": take("result", "event.data.output"),
         "next": log})


def w10():
    """A fan-out: one call for each number, all at once; whoever is invoked answers at once."""
    return chart("w10", "working", {
        "working": {"type": "atomic", "invoke": {
            "id": "items", "src": "stub", "each": "range(input.items)", "max_concurrent": 100_000,
            "input": {"n": "item"}, "onDone": {"target": "done", "actions": ["keep"]}}},
        "done": {"type": "final"}},
        {"results": None},
        {"keep": {"type": "assign", "context_updates": {"results": "event.data"}}})


def main():
    stale = []
    for name, document in {"w1": w1(), "w2": w2(), "w3": w3(), "w4": w4(), "w5": w5(), "w9": w9(), "w10": w10()}.items():
        path = HERE / f"{name}.json"
        text = json.dumps(document, indent=None if name == "w5" else 1) + "\n"
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(path.name)
    if stale:
        sys.exit(f"not as generated: {', '.join(stale)}")


if __name__ == "__main__":
    main()

"""sismic: our chart as its YAML (written as JSON, which is YAML)."""
import json

from sismic.interpreter import Interpreter
from sismic.io import import_from_yaml

from charts import bare, children, read, transitions, updates

STARTS_ENTERED = True


def to_yaml(chart):
    def code(names):
        return "\n".join(f"{key} = {bare(expression)}" for key, expression in updates(chart, names))

    def transition(event, t):
        result = {"event": event, "target": t.get("target"), "guard": bare(t.get("guard") or ""),
                  "action": code(t.get("actions"))}
        return {key: value for key, value in result.items() if value}

    def state(key, s):
        result = {"name": key, "type": "final" if s.get("type") == "final" else None,
                  "on entry": code(s.get("entry")), "on exit": code(s.get("exit")),
                  "transitions": [transition(event, t) for event, t in transitions(s)], "initial": s.get("initial"),
                  "parallel states" if s.get("regions") else "states": [state(*child) for child in children(s)]}
        return {key: value for key, value in result.items() if value}

    preamble = "\n".join(f"{key} = {value!r}" for key, value in chart["context"].items())
    root = {"name": "root", "initial": chart["initial"], "states": [state(*child) for child in children(chart)]}
    return json.dumps({"statechart": {"name": chart["id"], "preamble": preamble, "root state": root}})


class Peer:
    def __init__(self, name, context=None):
        self.chart = import_from_yaml(to_yaml(read(name)))
        self.interpreter = self.another()
        self.interpreter.context.update(context or {})

    def another(self):
        interpreter = Interpreter(self.chart)
        interpreter.execute()
        return interpreter

    def send(self, event):
        self.interpreter.queue(event).execute()

    def leaves(self):
        return sorted(s for s in self.interpreter.configuration if not self.chart.children_for(s))

    def context(self, key):
        return self.interpreter.context[key]

    def done(self):
        return self.interpreter.final or self.leaves() == ["done"]

"""python-statemachine: our chart through its JSON loader."""
import json

from statemachine import State, StateChart
from statemachine.io import load

from charts import bare, children, read, transitions, updates

STARTS_ENTERED = True


def to_json(chart, context):
    def assigns(names):
        return [{"assign": {"location": key, "expr": bare(text)}} for key, text in updates(chart, names)]

    def transition(event, t):
        result = {"event": event, "target": t.get("target"), "cond": bare(t.get("guard") or ""),
                  "on": assigns(t.get("actions"))}
        return {key: value for key, value in result.items() if value}

    def state(s, initial):
        result = {"initial": initial, "final": s.get("type") == "final", "parallel": bool(s.get("regions")),
                  "enter": assigns(s.get("entry")), "exit": assigns(s.get("exit")),
                  "transitions": [transition(event, t) for event, t in transitions(s)],
                  "states": {key: state(child, key == s.get("initial")) for key, child in children(s)}}
        return {key: value for key, value in result.items() if value}

    return json.dumps({"name": chart["id"],
                       "datamodel": {key: json.dumps(value) for key, value in (chart["context"] | context).items()},
                       "states": {key: state(s, key == chart["initial"]) for key, s in children(chart)}})


class Counter(StateChart):
    """W2 as a class. A second instance of a chart from JSON never leaves its eventless loop (3.2.2), so W7 takes this."""
    counting = State(initial=True)
    done = State(final=True)
    INC = counting.to.itself(internal=True, cond="can", on="inc")
    full = counting.to(done, cond="is_full")

    def __init__(self):
        self.count, self.limit = 0, 1000000
        super().__init__()

    def can(self):
        return self.count < self.limit

    def is_full(self):
        return self.count >= self.limit

    def inc(self):
        self.count += 1


class Peer:
    def __init__(self, name, context=None):
        self.instance = load(to_json(read(name), context or {}), format="json")()

    def another(self):
        return Counter()

    def send(self, event):
        self.instance.send(event)

    def leaves(self):
        return sorted(state.id for state in self.instance.configuration if not state.states)

    def context(self, key):
        return getattr(self.instance.model, key)

    def done(self):
        return self.leaves() == ["done"]

"""transitions: no eventless transitions, so an `always` runs as a second trigger after each event."""
from transitions import Machine
from transitions.extensions import HierarchicalMachine
from transitions.extensions.nesting import NestedState

from charts import as_list, children, compiled, read, transitions, updates

# on_enter is not called for the initial state.
STARTS_ENTERED = False
ALWAYS = "__always"
NestedState.separator = "/"


class Model:
    def __init__(self, values):
        self.values = dict(values)


class Peer:
    def __init__(self, name, context=None):
        self.chart = read(name)
        self.model = Model(self.chart["context"] | (context or {}))
        self.paths, self.rules = {}, []
        nested = any(children(state) for _, state in children(self.chart))
        self.find_paths(self.chart, "")
        states = [self.state(key, state) for key, state in children(self.chart)]
        kind = HierarchicalMachine if nested else Machine
        self.machine = kind(model=self.model, states=states, transitions=self.rules, initial=self.chart["initial"],
                            auto_transitions=False, send_event=True)

    def find_paths(self, state, prefix):
        for key, child in children(state):
            self.paths[key] = prefix + key
            self.find_paths(child, prefix + key + "/")

    def actions(self, names):
        assigns = [(key, compiled(expression)) for key, expression in updates(self.chart, names)]

        def run(event):
            values = event.model.values
            for key, function in assigns:
                values[key] = function(values)
        return [run] if assigns else []

    def state(self, key, s):
        for event, t in transitions(s):
            self.rules.append(self.rule(key, event, t, always=event and s.get("always")))
        result = {"name": key, "on_enter": self.actions(s.get("entry")), "on_exit": self.actions(s.get("exit"))}
        below = [self.state(*child) for child in children(s)]
        if s.get("regions"):
            result["parallel"] = below
        elif below:
            result |= {"initial": s["initial"], "children": below}
        return result

    def rule(self, source, event, t, always):
        guard = t.get("guard") and compiled(t["guard"])
        return {"trigger": event or ALWAYS, "source": self.paths[source], "dest": self.paths.get(t.get("target")),
                "conditions": [lambda event: guard(event.model.values)] if guard else [],
                "before": self.actions(t.get("actions")),
                "after": [lambda event: event.model.trigger(ALWAYS)] if always else []}

    def another(self):
        model = Model(self.chart["context"])
        self.machine.add_model(model, initial=self.chart["initial"])
        return model

    def send(self, event):
        self.model.trigger(event)

    def leaves(self):
        return sorted(path.split("/")[-1] for path in as_list(self.model.state))

    def context(self, key):
        return self.model.values[key]

    def done(self):
        return self.model.state == "done"

"""Graphs of the real LangGraph with one run each, for the test of the importer: prints one JSON object per graph with
`get_graph().to_json()` and the supersteps of the run, each node with the choice that it returned."""

import json
import operator
from typing import Annotated, Literal, TypedDict

from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    ran: Annotated[list, operator.add]


def build(nodes, edges, choices=(), join=()):
    graph = StateGraph(State)
    for name in nodes:
        graph.add_node(name, lambda state, name=name: {"ran": [name]})
    for source, target in edges:
        graph.add_edge(source, target)
    for sources, target in join:
        graph.add_edge(sources, target)
    for source, route, mapping in choices:
        graph.add_conditional_edges(source, route, mapping)
    return graph.compile()


def show(name, app, chosen=lambda node, state: None, refused=False):
    case = {"name": name, "graph": app.get_graph().to_json(), "refused": refused}
    if not refused:
        steps, ran = [], []
        for update in app.stream({"ran": []}, stream_mode="debug"):
            if update["type"] == "task":
                step = update["step"]
                while len(steps) <= step:
                    steps.append({})
                node = update["payload"]["name"]
                ran.append(node)
                steps[step][node] = chosen(node, ran)
        case["steps"] = [step for step in steps if step]
    print(json.dumps(case))


show("line", build("ab", [(START, "a"), ("a", "b"), ("b", END)]))
show("diamond", build("abcd", [(START, "a"), ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", END)]))
show("join", build("abcd", [(START, "a"), ("a", "b"), ("a", "c"), ("d", END)], join=[(["b", "c"], "d")]))
show("two starts", build("abc", [(START, "a"), (START, "b"), ("a", "c"), ("b", "c"), ("c", END)]))


def route(state) -> Literal["b", "c"]:
    return "c"


show("typed choice", build("abc", [(START, "a"), ("b", END), ("c", END)], [("a", route, None)]), lambda node, _: "c" if node == "a" else None)
show(
    "labels",
    build("abc", [(START, "a"), ("b", END), ("c", END)], [("a", lambda _: "no", {"yes": "b", "no": "c", "stop": END})]),
    lambda node, _: {"next": "no"} if node == "a" else None,
)
again = lambda ran: "more" if ran.count("a") < 3 else "stop"
show(
    "loop",
    build("ab", [(START, "a"), ("b", "a")], [("a", lambda state: again(state["ran"]), {"more": "b", "stop": END})]),
    lambda node, ran: again(ran) if node == "a" else None,
)
show(
    "choices side by side",
    build("abcde", [(START, "a"), (START, "b"), ("c", END), ("d", END), ("e", END)], [("a", lambda _: "c", ["c", "d"]), ("b", lambda _: "e", ["d", "e"])]),
    lambda node, _: {"a": "c", "b": "e"}.get(node),
)
show("unequal", build("abcd", [(START, "a"), (START, "b"), ("b", "c"), ("a", "d"), ("c", "d"), ("d", END)]), refused=True)
inner = build("pq", [(START, "p"), ("p", "q"), ("q", END)])
outer = StateGraph(State)
outer.add_node("sub", inner)
outer.add_edge(START, "sub")
outer.add_edge("sub", END)
show("subgraph", outer.compile())

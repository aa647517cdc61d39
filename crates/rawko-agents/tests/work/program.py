"""A process agent for the tests. What it does in each round stands in steps.json; what it is asked and told it writes
down in heard.jsonl beside the project."""

import json
import os
import sys
import time


def note(**what):
    with open("../heard.jsonl", "a") as file:
        file.write(json.dumps(what) + "\n")


def say(**message):
    print(json.dumps(message), flush=True)


def heard():
    try:
        return [json.loads(line) for line in open("../heard.jsonl")]
    except FileNotFoundError:
        return []


def act(number, step):
    (kind, what), = step.items()
    if kind == "say":
        say(type="text_delta", text=what)
    elif kind == "tool":
        name, given = what
        say(type="tool_call", id=f"c{number}", name=name, input=given)
        answer = json.loads(sys.stdin.readline())
        note(**answer)
        if answer["type"] == "cancel":
            sys.exit(0)
    elif kind == "usage":
        say(type="usage", **what)
    elif kind == "crash":
        print("panic: index out of range", file=sys.stderr, flush=True)
        os._exit(what)
    elif kind == "raw":
        print(what, flush=True)
    elif kind == "hang":
        time.sleep(3600)
    else:
        say(type=kind, **what)


rounds = json.load(open("steps.json"))
turn = json.loads(sys.stdin.readline())
number = sum(1 for line in heard() if line["type"] == "turn")
note(pid=os.getpid(), **turn)
for at, step in enumerate(rounds[min(number, len(rounds) - 1)]):
    act(at, step)

"""A coding agent over ACP for the tests. What it does stands in steps.json; what it is told it writes down in
heard.jsonl beside the project. Where it is permitted to, it runs commands itself."""

import json
import os
import subprocess
import sys

OPTIONS = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
asked = 0


def note(**what):
    with open("../heard.jsonl", "a") as file:
        file.write(json.dumps(what) + "\n")


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def receive():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def ask(method, **params):
    global asked
    asked += 1
    number = f"a{asked}"
    send({"id": number, "method": method, "params": params})
    while True:
        message = receive()
        if message.get("id") == number and "method" not in message:
            return message.get("result"), message.get("error")
        if message.get("method") == "session/cancel":
            note(type="cancel")
            sys.exit(0)


def update(session, **what):
    send({"method": "session/update", "params": {"sessionId": session, "update": what}})


def end(session, call, status, result):
    content = [{"type": "content", "content": {"type": "text", "text": result}}]
    update(session, sessionUpdate="tool_call_update", toolCallId=call, status=status, content=content)


def act(session, number, step):
    (kind, what), = step.items()
    if kind == "say":
        update(session, sessionUpdate="agent_message_chunk", content={"type": "text", "text": what})
    elif kind == "ask":
        call = {"toolCallId": f"t{number}", "title": "a tool", **what}
        result, _ = ask("session/request_permission", sessionId=session, toolCall=call, options=OPTIONS)
        answer = result["outcome"].get("optionId", "cancelled")
        note(type="permission", answer=answer)
        if answer == "yes" and isinstance(what.get("rawInput", {}).get("command"), str):
            subprocess.run(what["rawInput"]["command"], shell=True)
    elif kind == "run":
        call, status, result = what
        update(session, sessionUpdate="tool_call", toolCallId=f"t{number}", title="a tool", status="in_progress", **call)
        end(session, f"t{number}", status, result)
    elif kind == "end":
        end(session, *what)
    elif kind == "write":
        path, content = what
        _, error = ask("fs/write_text_file", sessionId=session, path=os.path.abspath(path), content=content)
        note(type="write", answer=error["message"] if error else "done")
    elif kind == "read":
        result, error = ask("fs/read_text_file", sessionId=session, path=os.path.abspath(what))
        note(type="read", answer=error["message"] if error else result["content"])
    elif kind == "cost":
        update(session, sessionUpdate="usage_update", used=10, size=100, cost={"amount": what, "currency": "USD"})


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
    if method == "session/new":
        return {"sessionId": "new-session"}
    if method == "session/load":
        note(type="load", session=params["sessionId"], cwd=params["cwd"])
        return {}
    session = params["sessionId"]
    note(type="prompt", text=params["prompt"][0]["text"])
    for number, step in enumerate(json.load(open("steps.json"))):
        act(session, number, step)
    return {"stopReason": "end_turn", "usage": {"inputTokens": 30, "outputTokens": 12, "totalTokens": 42}}


while True:
    message = receive()
    if "id" in message and "method" in message:
        send({"id": message["id"], "result": answer(message["method"], message.get("params", {}))})

"""An MCP server that misbehaves on demand. Tools: add, crash, exit_quietly, grow, flood, wait, refuse, ask, nap."""

import json
import os
import subprocess
import sys
import time

tools = [
    {"name": "add", "description": "adds", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "set", "inputSchema": {"type": "object"}, "annotations": {"idempotentHint": True}},
    {"name": "crash", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": True}},
    {"name": "grow", "inputSchema": {"type": "object"}},
    {"name": "flood", "inputSchema": {"type": "object"}},
    {"name": "wait", "inputSchema": {"type": "object"}},
    {"name": "refuse", "inputSchema": {"type": "object"}},
    {"name": "ask", "inputSchema": {"type": "object"}},
    {"name": "nap", "inputSchema": {"type": "object"}},
    {"name": "env", "inputSchema": {"type": "object"}},
    {"name": "log.all", "inputSchema": {"type": "object"}},
    {"name": "log all", "inputSchema": {"type": "object"}},
]


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def call(name, arguments):
    if name == "add":
        total = arguments["a"] + arguments["b"]
        return text(str(total), structuredContent={"sum": total})
    if name == "crash":
        print("crashing: the database is on fire", file=sys.stderr, flush=True)
        os._exit(7)
    if name == "grow":
        tools.append({"name": "grown", "inputSchema": {"type": "object"}})
        send({"method": "notifications/tools/list_changed"})
        return text("grew")
    if name == "flood":
        return text("x" * arguments["bytes"])
    if name == "nap":
        time.sleep(arguments["seconds"])
    if name == "env":
        return text(",".join(sorted(os.environ)))
    return text(f"called {name}")


def main():
    if "--child" in sys.argv:
        # A child that outlives its parent unless somebody ends the whole group.
        argument = sys.argv[sys.argv.index("--child") + 1]
        subprocess.Popen(["sleep", argument], stdout=subprocess.DEVNULL)
    for line in sys.stdin:
        message = json.loads(line)
        number, method = message.get("id"), message.get("method")
        if method is None:
            # The answer to the question of `ask`, whose call has the same number.
            send({"id": number, "result": text("asked")})
            continue
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "peer", "version": "1"}
            capabilities = {"tools": {"listChanged": True}}
            result = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
            send({"id": number, "result": result})
        elif method == "tools/list":
            send({"id": number, "result": {"tools": tools}})
        elif method == "tools/call":
            name = message["params"]["name"]
            if name == "refuse":
                send({"id": number, "error": {"code": -32602, "message": "the arguments are wrong"}})
            elif name == "ask":
                form = {"message": "Which?", "requestedSchema": {"type": "object", "properties": {}}}
                send({"id": number, "method": "elicitation/create", "params": form})
            elif name != "wait":
                send({"id": number, "result": call(name, message["params"].get("arguments", {}))})
        elif number is not None:
            send({"id": number, "error": {"code": -32601, "message": f"unknown method {method}"}})
    if "--child" in sys.argv:
        # As some servers do, it does not end when its input does.
        while True:
            os.read(os.pipe()[0], 1)


main()

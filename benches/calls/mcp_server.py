"""An MCP server over stdio with one tool that doubles a number, without any package."""
import json
import sys

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOL = {"name": "double", "description": "Doubles a number.", "inputSchema": SCHEMA}


def send(number, result):
    print(json.dumps({"jsonrpc": "2.0", "id": number, **result}), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        send(number, {"result": {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                                 "serverInfo": {"name": "bench", "version": "1"}}})
    elif method == "tools/list":
        send(number, {"result": {"tools": [TOOL]}})
    elif method == "tools/call":
        text = f"<{2 * message['params']['arguments']['n']}>"
        send(number, {"result": {"content": [{"type": "text", "text": text}]}})
    elif number is not None:
        send(number, {"error": {"code": -32601, "message": "unknown"}})

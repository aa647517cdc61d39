"""An ACP agent for the tests: it does what the prompt says, one word of it after the other."""

import json
import os
import sys

signed_in = "--sign-in" not in sys.argv
sent = 0


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def update(session, **what):
    send({"method": "session/update", "params": {"sessionId": session, "update": what}})


def say(session, words):
    content = {"type": "text", "text": words}
    update(session, sessionUpdate="agent_message_chunk", content=content)


def ask(method, **params):
    """A request to the client; its answer, or its error."""
    global sent
    sent += 1
    number = f"a{sent}"
    send({"id": number, "method": method, "params": params})
    while True:
        message = receive()
        if message.get("id") == number and "method" not in message:
            return message.get("result"), message.get("error")
        if message.get("method") == "session/cancel":
            cancelled.append(True)


cancelled = []


def act(session, word):
    """What a word of the prompt does; the reason to stop, if it does that."""
    if word == "run":
        call = {"toolCallId": "t1", "title": "run `make`", "name": "shell", "kind": "execute", "rawInput": {"command": "make"}}
        update(session, sessionUpdate="tool_call", status="pending", **call)
        options = [
            {"optionId": "yes-always", "name": "Always", "kind": "allow_always"},
            {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]
        result, _ = ask("session/request_permission", sessionId=session, toolCall=call, options=options)
        outcome = result["outcome"]
        say(session, f"permission: {outcome.get('optionId', outcome['outcome'])}. ")
        update(session, sessionUpdate="tool_call_update", toolCallId="t1", status="completed")
    elif word == "write":
        _, error = ask("fs/write_text_file", sessionId=session, path=os.getcwd() + "/new.txt", content="hello")
        say(session, f"write: {error['message'] if error else 'done'}. ")
    elif word == "read":
        result, error = ask("fs/read_text_file", sessionId=session, path=os.getcwd() + "/old.txt", line=2, limit=1)
        say(session, f"read: {error['message'] if error else result['content']}. ")
    elif word == "terminal":
        _, error = ask("terminal/create", sessionId=session, command="ls")
        say(session, f"terminal: {error['code']}. ")
    elif word == "noise":
        print("a line that does not belong here", flush=True)
        print("nor this", file=sys.stderr, flush=True)
    elif word == "crash":
        print("panic: index out of range", file=sys.stderr, flush=True)
        os._exit(11)
    elif word == "hang":
        say(session, "hanging")
        while True:
            receive()
    elif word == "wait":
        say(session, "waiting")
        while not cancelled:
            if receive().get("method") == "session/cancel":
                cancelled.append(True)
        return "cancelled"
    elif word in ("max_tokens", "refusal", "max_turn_requests"):
        return word
    else:
        say(session, word + " ")
    return None


def answer(message):
    global signed_in
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        version = 2 if "--other-version" in sys.argv else 1
        methods = [{"id": "key", "name": "Key"}, {"id": "browser", "name": "Browser"}]
        capabilities = {"loadSession": "--load" in sys.argv}
        return {"protocolVersion": version, "agentCapabilities": capabilities, "authMethods": methods}
    if method == "authenticate":
        if params["methodId"] != "key":
            raise RuntimeError("there is no browser here")
        signed_in = True
        return {}
    if method in ("session/new", "session/load") and not signed_in:
        raise PermissionError
    if method == "session/new":
        return {"sessionId": "new-session"}
    if method == "session/load":
        say(params["sessionId"], "words of an earlier turn ")
        return {}
    if method == "session/prompt":
        session = params["sessionId"]
        for word in params["prompt"][0]["text"].split():
            reason = act(session, word)
            if reason:
                return {"stopReason": reason}
        update(session, sessionUpdate="usage_update", used=10, size=100, cost={"amount": 0.25, "currency": "USD"})
        return {"stopReason": "cancelled" if cancelled else "end_turn"}
    raise RuntimeError(f"no method {method}")


while True:
    message = receive()
    if "id" not in message:
        continue
    try:
        send({"id": message["id"], "result": answer(message)})
    except PermissionError:
        send({"id": message["id"], "error": {"code": -32000, "message": "Authentication required"}})
    except RuntimeError as error:
        send({"id": message["id"], "error": {"code": -32603, "message": str(error)}})

"""An agent over WebSocket, somewhere else: `REPORTER_TOKEN=… reporter.py ws://127.0.0.1:7411/v1/agents`."""

import json
import os
import sys

from websocket import WebSocket

server = WebSocket(sys.argv[1])


def say(**message):
    server.send(json.dumps(message))


say(type="register", protocol=1, agent="reporter", observe=False, token=os.environ["REPORTER_TOKEN"])
for text in server:
    message = json.loads(text)
    if message["type"] == "turn_granted":
        channel, turn = message["channel"], message["turn"]
        asked = [said["text"] for said in message["messages"] if said["kind"] == "person"]
        if asked:
            answer = "CI is green." if "CI" in asked[-1] else "Two issues came in over night."
            say(type="message", channel=channel, turn=turn, id=f"turn-{turn}", text=answer)
        say(type="turn_complete", channel=channel, turn=turn)

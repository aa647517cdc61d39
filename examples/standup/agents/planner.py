"""An agent over stdio: a JSON object a line. Answers what a person asks, and passes otherwise."""

import json
import os
import sys


def say(**message):
    print(json.dumps(message), flush=True)


say(type="register", protocol=1, agent=os.environ["RAWKO_AGENT"], observe=False)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "turn_granted":
        asked = any(said["kind"] == "person" for said in message["messages"])
        text = "Yesterday: the importer. Today: its tests. " if asked else ""
        # The word ends the turn; with nothing before it, nothing is posted.
        say(type="message", channel=message["channel"], turn=message["turn"], text=text + "TURN_COMPLETE")

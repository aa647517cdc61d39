"""An agent over stdio that writes the minutes: it names who spoke since a person asked."""

import json
import os
import sys


def say(**message):
    print(json.dumps(message), flush=True)


say(type="register", protocol=1, agent=os.environ["RAWKO_AGENT"], observe=False)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "turn_granted":
        channel, turn, said = message["channel"], message["turn"], message["messages"]
        speakers = [entry["from"] for entry in said if entry["kind"] == "agent"]
        if speakers and any(entry["kind"] == "person" for entry in said):
            text = "Minutes: " + " and ".join(speakers) + " reported."
            say(type="message", channel=channel, turn=turn, text=text)
        say(type="turn_complete", channel=channel, turn=turn)

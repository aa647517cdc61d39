"""Notes that a timer was asked for. Input as JSON on stdin, the result as JSON on stdout."""

import json
import sys

request = json.load(sys.stdin)["input"]
print(f"timer {request['name']} for {request['duration']}", file=sys.stderr)
json.dump({}, sys.stdout)

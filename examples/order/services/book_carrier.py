"""Books no carrier: answers what one would. Input as JSON on stdin, the result as JSON on stdout."""

import json
import sys

request = json.load(sys.stdin)["input"]
json.dump({"tracking": f"t-{request['order']}"}, sys.stdout)

"""Charges no card: returns the response of a card service. Input as JSON on stdin, the result as JSON on stdout."""

import json
import sys

request = json.load(sys.stdin)["input"]
if request["amount"] > 10_000:
    sys.exit("card declined")
json.dump({"receipt": f"r-{request['order']}"}, sys.stdout)

"""Numbers an invoice."""

import json
import sys

order = json.load(sys.stdin)["input"]["order"]
json.dump({"number": f"inv-{order}"}, sys.stdout)

"""Books no carrier: returns the response of one. Parcels to `nowhere` are refused, so that compensation can be seen."""

import json
import sys
import time

# Carriers take their time: the invoice is written long before.
time.sleep(1)
order = json.load(sys.stdin)["input"]["order"]
if order.endswith("nowhere"):
    json.dump({"message": "no carrier goes there", "retryable": False}, sys.stdout)
    sys.exit(1)
json.dump({"tracking": f"t-{order}"}, sys.stdout)

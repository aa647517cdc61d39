"""A payment service on loopback, for the demonstration: busy at first, and never charges twice for one key.

Prints its address, then serves until it is stopped.
"""

import http.server
import json

receipts = {}
seen = set()


class Payments(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.headers["Idempotency-Key"]
        if self.path == "/refund":
            return self.answer(200, {"refunded": body["receipt"]})
        if body["order"] not in seen:
            seen.add(body["order"])
            return self.answer(503, {"message": "the terminal is busy"})
        receipts.setdefault(key, f"r-{body['order']}-{len(receipts) + 1}")
        self.answer(200, {"receipt": receipts[key]})

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Payments)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()

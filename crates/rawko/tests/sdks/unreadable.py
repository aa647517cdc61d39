"""A program with a library of its own, whose answers cannot be read: half of a surrogate pair, and more than 4 MiB."""

import asyncio
import json
import os

from rawko_sdk._http import Address
from rawko_sdk._socket import Socket


async def main() -> None:
    headers = {"Authorization": f"Bearer {os.environ['RAWKO_TOKEN']}"}
    socket = await Socket.connect(Address(os.environ["RAWKO_URL"]), "/v1/services", headers)
    offer = {"protocol": 1, "name": "unreadable", "concurrency": 1, "services": [{"name": "answer"}]}
    socket.send(json.dumps({"type": "register", **offer}))
    while True:
        message = json.loads(await socket.receive(600))
        if message["type"] == "call":
            value = "\ud800" if message["input"]["kind"] == "half" else "x" * 5 * 1024 * 1024
            socket.send(json.dumps({"type": "result", "call": message["call"], "value": value}))


asyncio.run(main())

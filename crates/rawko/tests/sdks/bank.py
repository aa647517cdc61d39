"""A bank for the tests: it pays an order once per idempotency key, and takes a random time before and after."""

import asyncio
import pathlib
import random
import sys
from urllib.parse import quote

from rawko_sdk import Call, Services

paid = pathlib.Path(sys.argv[1])
services = Services(name=sys.argv[2], concurrency=4)


async def pay(order: int, call: Call) -> str:
    await asyncio.sleep(random.random() / 50)
    try:
        (paid / f"{order}@{quote(call.key, safe='')}").touch(exist_ok=False)
    except FileExistsError:
        pass  # It was paid by an attempt whose answer was lost.
    await asyncio.sleep(random.random() / 50)
    return call.key


services.service("charge")(pay)
services.service("charge_once")(pay)
asyncio.run(services.run())

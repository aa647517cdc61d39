"""Starts many runs and waits for all of them, whatever happens to the server meanwhile."""

import asyncio
import sys

from rawko_sdk import Client

client = Client(retry_for=300)


async def one(order: int, places: asyncio.Semaphore) -> None:
    async with places:
        # Every third has an id of its own.
        id = None if order % 3 else f"order-{order}"
        run = await client.start("pay" if order % 2 else "pay_once", {"order": order}, id=id)
        print(f"{order} {await run.result()}", flush=True)


async def main() -> None:
    places = asyncio.Semaphore(16)
    await asyncio.gather(*(one(order, places) for order in range(int(sys.argv[1]))))


asyncio.run(main())

"""Waits for a run over a connection that falls silent without closing; prints the result."""

import asyncio

from rawko_sdk import Client, RunFailed


async def main() -> None:
    client = Client(silence=0.5)
    run = await client.start("order")
    await run.cancel("enough")
    try:
        await asyncio.wait_for(run.result(), 60)
    except RunFailed as error:
        print("failed", str(error.instance["id"] == run.id).lower())


asyncio.run(main())

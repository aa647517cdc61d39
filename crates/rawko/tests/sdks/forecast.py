"""Runs the chart `forecast` and prints its result."""

import asyncio

from rawko_sdk import Client


async def main() -> None:
    run = await Client().start("forecast", {})
    print(await run.result())

asyncio.run(main())

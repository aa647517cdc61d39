"""Starts runs with chosen ids while responses are lost; prints the results and errors."""

import asyncio

from rawko_sdk import ApiError, Client


async def main() -> None:
    client = Client()
    print("started", (await client.start("order", id="mine")).id)
    for chart in ("order", "article"):
        try:
            await client.start(chart, id="mine")
        except ApiError as error:
            print(error.code, str(error.repeated).lower())


asyncio.run(main())

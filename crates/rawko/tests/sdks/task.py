"""Follows a task while its agent writes, and continues it; prints the streamed text and the outcomes."""

import asyncio

from rawko_sdk import Client


async def main() -> None:
    client = Client()
    run = await client.task("Write about greetings", agent="writer", max_iterations=3)
    print("streamed", "".join([event.text async for event in run.events() if event.text]))
    await run.result()
    print("task", (await run.get())["outcome"])
    continued = await run.say("Make it shorter")
    print("streamed", "".join([event.text async for event in continued.events() if event.text]))
    await continued.result()
    print("continued", (await continued.get())["outcome"])


asyncio.run(main())

"""Everything that the client does besides starting: prints what happened, for the test to compare."""

import asyncio
import json
from typing import Any

from rawko_sdk import ApiError, Client, RunFailed, Services

services = Services()


@services.service()
def publish(draft: Any):
    return {"url": draft["text"]}


async def main() -> None:
    client = Client()
    await services.start()
    article = await client.start("article", id="one")

    async def collect() -> list[int]:
        events = article.events()
        return [it.data["step"] async for it in events if it.type == "step" and it.data["instance"] == "one"]

    steps, again = await collect(), await collect()
    print((await article.get())["context"]["text"])
    print("steps", str(len(steps) > 2 and steps == again).lower())
    try:
        await client.start("order", id="one")
    except ApiError as error:
        print("exists", error.code, error.status)
    order = await client.start("order")
    first = await order.send("PAY", key="pay-1")
    second = await order.send("PAY", key="pay-1")
    print("handled", str(first["handled"]).lower(), "again", str(first["step"] == second["step"]).lower())
    (pending,) = [asked for asked in await client.approvals() if asked["id"] == order.id]
    print("pending", pending["input"]["title"])
    await order.approve(comment="go")
    print("result", json.dumps(await order.result()))
    print("attached", (await client.attach(order.id).get())["outcome"])
    try:
        await client.start("nothing")
    except ApiError as error:
        print("refused", error.code)
    other = await client.start("order")
    await other.cancel("enough")
    try:
        await other.result()
    except RunFailed:
        print("cancelled RunFailed")
    await services.stop()


asyncio.run(main())

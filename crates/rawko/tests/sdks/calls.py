"""Calls the services of `flaky.py`; prints one JSON object."""

import asyncio
import json
import pathlib

from rawko_sdk import Client


async def main() -> None:
    client = Client()
    run = await client.start("slow")
    said: dict = {}
    async for event in run.events():
        if event.type == "progress" and event.data["name"] == "slow":
            said["progress"] = event.data["data"]
            await run.send("STOP", key="stop")
    said["stopped"] = await run.result()
    while not (pathlib.Path("cancelled").exists() and pathlib.Path("cancelled").read_text()):
        await asyncio.sleep(0.02)
    services = (await client.get_services())["services"]
    said["programs"] = {service["name"]: service["programs"] for service in services}
    said["keys"] = await (await client.start("flaky")).result()
    print(json.dumps(said))


asyncio.run(main())

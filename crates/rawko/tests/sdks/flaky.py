"""A service that never ends until it is cancelled, and one that fails in both ways before it succeeds."""

import asyncio
import pathlib

from rawko_sdk import Call, ServiceError, Services

services = Services(name="flaky")
keys: list[str] = []


@services.service()
async def slow(given, call: Call):
    try:
        while True:
            # Again and again: progress is shown only to those who watch.
            call.progress({"part": 1})
            await asyncio.sleep(0.05)
    finally:
        pathlib.Path("cancelled").write_text("cancelled")


@services.service()
def flaky(given, call: Call):
    keys.append(call.key)
    if len(keys) == 1:
        raise ServiceError("nothing happened")
    if len(keys) == 2:
        raise RuntimeError("who knows")
    return keys


asyncio.run(services.run())

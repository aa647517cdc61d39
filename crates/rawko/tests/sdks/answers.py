"""A service whose answers the server could not read."""

import asyncio

from rawko_sdk import ServiceError, Services

services = Services(name="answers")


@services.service()
async def answer(given):
    kind = given["kind"]
    if kind == "half":
        return "\ud800"
    if kind == "large":
        return "x" * 5 * 1024 * 1024
    if kind == "details":
        circle: dict = {}
        circle["circle"] = circle
        raise ServiceError("failed", details=circle)
    return "é" * 1_000_000


asyncio.run(services.run())

"""A typed service that agents call as a tool. It writes down every call with its key."""

import asyncio
import pathlib
from typing import TypedDict

from rawko_sdk import Call, Services

services = Services(name="weather")


class Place(TypedDict):
    city: str


class Report(TypedDict):
    sky: str


@services.service()
def weather(place: Place, call: Call) -> Report:
    with pathlib.Path("calls.txt").open("a") as calls:
        calls.write(f"{place['city']} {call.key}\n")
    return {"sky": f"rain in {place['city']}"}


asyncio.run(services.run())

"""python service.py N: provides a service with the Python SDK, and has a chart call it N times, one call after another.
Prints the time of one call as a line of the protocol.
"""
import asyncio
import json
import sys
import time

from rawko_sdk import Client, Services

N = int(sys.argv[1])
services = Services()


@services.service()
async def double(n: int) -> int:
    return 2 * n


async def play(calls: int) -> None:
    run = await Client().start("doubling", {"calls": calls})
    if await run.result() != [2 * n for n in range(calls)]:
        sys.exit("a result is wrong, lost or out of order")


async def main() -> None:
    async with services:
        await play(10)
        cpu, wall = time.process_time(), time.perf_counter()
        await play(N)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        print(json.dumps({"peer": "rawko", "w": "CALLS", "metric": "sdk_ms", "value": wall / N * 1e3,
                          "cpu": cpu / N * 1e3, "unit": "ms", "n": N}))


asyncio.run(main())

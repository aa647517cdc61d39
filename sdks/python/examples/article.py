import asyncio
from typing import TypedDict

from rawko_sdk import Client, Services

services = Services()  # RAWKO_URL: address, RAWKO_TOKEN: identity


class Draft(TypedDict):
    text: str


class Published(TypedDict):
    url: str


@services.service()
async def publish(draft: Draft) -> Published:
    return {"url": f"https://example.test/{draft['text']}"}


async def main() -> None:
    async with services:
        article = await Client().start("article", {"topic": "greetings"})
        print((await article.result())["url"])

asyncio.run(main())

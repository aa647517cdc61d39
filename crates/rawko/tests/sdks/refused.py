"""Registrations that the server refuses: prints the codes."""

import asyncio

from rawko_sdk import RegistrationError, Services


async def main() -> None:
    for name, schema in (("publish", {"type": "string"}), ("other", None)):
        services = Services()
        services.service(name, input=schema)(lambda given: given)
        try:
            await services.run()
        except RegistrationError as error:
            print(error.code)


asyncio.run(main())

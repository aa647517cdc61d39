"""One connection of a program that provides services: registration, then JSON messages in both directions."""

from __future__ import annotations

import json
from typing import Any

from ._http import Address
from ._socket import Socket
from .errors import ConnectionLost, RegistrationError

# Heartbeats of the server that may be missing.
_MISSED_MAX = 3
_REGISTER_SECONDS = 10.0
# The server accepts no larger message.
_MESSAGE_BYTES_MAX = 4 * 1024 * 1024
# After these the server may accept the same registration.
_PASSING = {"closing", "heartbeats_missed"}


def encoded(message: dict[str, Any]) -> str:
    """Returns the text of a message. Raises `TypeError`, `ValueError` or `RecursionError` if the server could not read it."""
    text = json.dumps(message, allow_nan=False, ensure_ascii=False)
    size = len(text.encode())
    if size > _MESSAGE_BYTES_MAX:
        raise ValueError(f"it has {size} bytes, and a message has at most {_MESSAGE_BYTES_MAX}")
    return text


class Connection:
    def __init__(self, socket: Socket, welcome: dict[str, Any]) -> None:
        self._socket = socket
        self._patience = _MISSED_MAX * float(welcome["heartbeat_seconds"])
        self.session: str = welcome["session"]
        self.resumed: bool = welcome["resumed"]

    @classmethod
    async def open(cls, address: Address, token: str | None, registration: dict[str, Any]) -> Connection:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        socket = await Socket.connect(address, "/v1/services", headers)
        try:
            socket.send(encoded(registration))
            welcome = _checked(json.loads(await socket.receive(_REGISTER_SECONDS)))
        except BaseException:
            socket.abort()
            raise
        return cls(socket, welcome)

    def send(self, message: dict[str, Any]) -> None:
        self._socket.send(encoded(message))

    async def receive(self) -> dict[str, Any]:
        return _checked(json.loads(await self._socket.receive(self._patience)))

    def close(self) -> None:
        self._socket.close()

    def abort(self) -> None:
        self._socket.abort()


def _checked(message: dict[str, Any]) -> dict[str, Any]:
    if message["type"] == "error" and message["fatal"]:
        if message["code"] in _PASSING:
            raise ConnectionLost(message["message"])
        raise RegistrationError(message["code"], message["message"])
    return message

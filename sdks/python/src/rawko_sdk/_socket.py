"""A WebSocket client (RFC 6455) over asyncio: text messages, pings and closing. Enough for the service protocol, so
that the package needs no other."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import struct
from typing import Mapping

from ._http import Address, Response, open_request, problem_of
from .errors import ConnectionLost

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _CLOSE, _PING, _PONG = 0x1, 0x8, 0x9, 0xA
_CONNECT_SECONDS = 10.0
_MESSAGE_BYTES_MAX = 64 * 1024 * 1024


class Socket:
    """An open connection. One task reads; any may send."""

    def __init__(self, response: Response) -> None:
        self._reader, self._writer = response.reader, response.writer

    @classmethod
    async def connect(cls, address: Address, path: str, headers: Mapping[str, str]) -> Socket:
        key = base64.b64encode(os.urandom(16))
        asked = {
            **headers,
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": key.decode(),
        }
        response = await open_request(address, "GET", path, asked, timeout=_CONNECT_SECONDS)
        if response.status != 101:
            raise await problem_of(response)
        expected = base64.b64encode(hashlib.sha1(key + _GUID).digest()).decode()
        if response.headers.get("sec-websocket-accept") != expected:
            response.close()
            raise ConnectionLost("the server does not speak WebSocket")
        return cls(response)

    def send(self, text: str) -> None:
        """Queues a text message. A broken connection is noticed by the reader."""
        self._frame(_TEXT, text.encode())

    async def drain(self) -> None:
        try:
            await self._writer.drain()
        except OSError as error:
            raise ConnectionLost(str(error)) from error

    async def receive(self, timeout: float) -> str:
        """Returns the next text message. Raises `ConnectionLost` at the end, or if nothing arrives in time."""
        parts: list[bytes] = []
        try:
            while True:
                head, opcode, data = await asyncio.wait_for(self._read_frame(), timeout)
                if opcode == _PING:
                    self._frame(_PONG, data)
                elif opcode == _CLOSE:
                    raise ConnectionLost("the server closed the connection")
                elif opcode != _PONG:
                    parts.append(data)
                    if sum(map(len, parts)) > _MESSAGE_BYTES_MAX:
                        raise ConnectionLost("the message is too large")
                    if head & 0x80:
                        return b"".join(parts).decode()
        except (OSError, EOFError, UnicodeDecodeError) as error:
            raise ConnectionLost(f"the connection broke: {error}") from error
        except asyncio.TimeoutError as error:
            raise ConnectionLost("no heartbeat of the server arrived in time") from error

    async def _read_frame(self) -> tuple[int, int, bytes]:
        head, size = await self._reader.readexactly(2)
        length = size & 0x7F
        if length == 126:
            (length,) = struct.unpack("!H", await self._reader.readexactly(2))
        elif length == 127:
            (length,) = struct.unpack("!Q", await self._reader.readexactly(8))
        if size & 0x80 or length > _MESSAGE_BYTES_MAX:
            raise ConnectionLost("the server sent an invalid frame")
        return head, head & 0x0F, await self._reader.readexactly(length)

    def _frame(self, opcode: int, data: bytes) -> None:
        if self._writer.is_closing():
            return
        length = len(data)
        head = bytes([0x80 | opcode])
        if length < 126:
            head += bytes([0x80 | length])
        elif length < 65536:
            head += struct.pack("!BH", 0x80 | 126, length)
        else:
            head += struct.pack("!BQ", 0x80 | 127, length)
        mask = os.urandom(4)
        # XOR of the whole message as one number: a loop over bytes would be slow.
        pad = mask * (length // 4 + 1)
        masked = int.from_bytes(data, "big") ^ int.from_bytes(pad[:length], "big")
        self._writer.write(head + mask + masked.to_bytes(length, "big"))

    def close(self) -> None:
        self._frame(_CLOSE, struct.pack("!H", 1000))
        self._writer.close()

    def abort(self) -> None:
        self._writer.close()

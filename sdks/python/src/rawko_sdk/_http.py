"""HTTP/1.1 over asyncio, as far as the API needs it: one request per connection, and streams that can be cancelled.

Separate from `http.client` of the standard library, which blocks a thread for the life of a stream.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import Any, AsyncIterator, Awaitable, Mapping
from urllib.parse import urlsplit

from .errors import ApiError, ConnectionLost

_LINE_BYTES_MAX = 16 * 1024 * 1024
_CONNECT_SECONDS = 10.0
# Some operations, such as the health of agents, take a while.
_RESPONSE_SECONDS = 300.0
# The server sends a comment to each stream every 15 seconds.
SILENCE_SECONDS = 45.0


class Address:
    """The base URL of a server."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"not an HTTP URL: {url!r}; write for example http://127.0.0.1:7411")
        self.host = parts.hostname
        self.port = parts.port or (443 if parts.scheme == "https" else 80)
        self.netloc = parts.netloc.rpartition("@")[2]
        self.path = parts.path.rstrip("/")
        self.tls = ssl.create_default_context() if parts.scheme == "https" else None


class Response:
    """Status and headers of a response whose body is still to be read."""

    def __init__(self, status: int, headers: dict[str, str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self.status, self.headers = status, headers
        self.reader, self.writer = reader, writer

    def close(self) -> None:
        self.writer.close()

    async def chunks(self, silence: float = SILENCE_SECONDS) -> AsyncIterator[bytes]:
        """Yields the body as it arrives. A connection that is silent for `silence` seconds is lost."""

        async def within(reading: Awaitable[bytes]) -> bytes:
            try:
                return await asyncio.wait_for(reading, silence)
            except asyncio.TimeoutError:
                raise ConnectionLost(f"the server sent nothing for {silence:g} s") from None

        try:
            if "chunked" in self.headers.get("transfer-encoding", ""):
                while size := int((await within(self.reader.readuntil(b"\r\n"))).split(b";")[0], 16):
                    yield (await within(self.reader.readexactly(size + 2)))[:-2]
            elif "content-length" in self.headers:
                # In parts, so that a large body on a slow connection is not taken for silence.
                left = int(self.headers["content-length"])
                while left:
                    if not (data := await within(self.reader.read(min(left, 65536)))):
                        raise EOFError(f"{left} bytes are missing")
                    left -= len(data)
                    yield data
            else:
                while data := await within(self.reader.read(65536)):
                    yield data
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            raise ConnectionLost(f"the response was cut off: {error}") from error

    async def body(self) -> bytes:
        return b"".join([chunk async for chunk in self.chunks()])


async def open_request(
    address: Address,
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes = b"",
    *,
    timeout: float = _RESPONSE_SECONDS,
) -> Response:
    """Sends a request and returns the head of its response, which must arrive within `timeout` seconds."""
    writer: asyncio.StreamWriter | None = None
    try:
        opening = asyncio.open_connection(address.host, address.port, ssl=address.tls, limit=_LINE_BYTES_MAX)
        reader, writer = await asyncio.wait_for(opening, _CONNECT_SECONDS)
        lines = [f"{method} {address.path}{path} HTTP/1.1", f"Host: {address.netloc}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body or method in ("POST", "PUT"):
            lines.append(f"Content-Length: {len(body)}")
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        await writer.drain()
        read = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), timeout)
        head = read.decode("latin-1").split("\r\n")
        status = int(head[0].split(" ")[1])
        pairs = (line.split(":", 1) for line in head[1:] if ":" in line)
        return Response(status, {name.strip().lower(): value.strip() for name, value in pairs}, reader, writer)
    except (OSError, EOFError, ValueError, IndexError, asyncio.LimitOverrunError) as error:
        if writer is not None:
            writer.close()
        raise ConnectionLost(f"cannot reach {address.netloc}: {error}") from error
    except BaseException:
        if writer is not None:
            writer.close()
        raise


async def problem_of(response: Response) -> ApiError:
    """Returns the error of a response that is not a success, and closes it."""
    try:
        text = (await response.body()).decode("utf-8", "replace")
    except ConnectionLost:
        text = ""
    finally:
        response.close()
    try:
        problem: Any = json.loads(text)
    except ValueError:
        problem = {}
    if not isinstance(problem, dict):
        problem = {}
    detail = problem.get("detail") or text[:500] or "no details"
    return ApiError(response.status, problem.get("code", "unknown"), detail, problem)

"""As much of a WebSocket client as an agent needs, with nothing to install (RFC 6455: text, ping, close)."""

import base64
import os
import socket
import struct
from urllib.parse import urlparse


class WebSocket:
    def __init__(self, url):
        place = urlparse(url)
        self.socket = socket.create_connection((place.hostname, place.port))
        self.file = self.socket.makefile("rb")
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        status = self.file.readline()
        if b"101" not in status:
            raise ConnectionError(status.decode().strip())
        while self.file.readline() not in (b"\r\n", b""):
            pass

    def send(self, text, kind=1):
        data = text if isinstance(text, bytes) else text.encode()
        length = len(data)
        if length < 126:
            head = struct.pack("!BB", 0x80 | kind, 0x80 | length)
        elif length < 65536:
            head = struct.pack("!BBH", 0x80 | kind, 0x80 | 126, length)
        else:
            head = struct.pack("!BBQ", 0x80 | kind, 0x80 | 127, length)
        mask = os.urandom(4)
        self.socket.sendall(head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))

    def __iter__(self):
        """The texts that come, until the other side is gone."""
        while head := self.file.read(2):
            kind, length = head[0] & 15, head[1] & 127
            if length == 126:
                (length,) = struct.unpack("!H", self.file.read(2))
            elif length == 127:
                (length,) = struct.unpack("!Q", self.file.read(8))
            data = self.file.read(length)
            if kind == 1:
                yield data.decode()
            elif kind == 9:
                self.send(data, kind=10)
            elif kind == 8:
                return

"""
The client's side of the WebSocket protocol (RFC 6455) without any I/O: bytes in, messages and answers out. No extension
is offered, so payloads are never compressed.
"""

from __future__ import annotations

import base64
import hashlib
import os
from typing import List, NamedTuple, Optional, Union

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
MAX_HEAD_BYTES = 65_536
# For one message, summed over all its fragments.
MAX_MESSAGE_BYTES = 1 << 26


class ProtocolError(Exception):
    """The other side does not speak WebSocket, or violates the protocol."""


class Text(NamedTuple):
    text: str


class Ping(NamedTuple):
    payload: bytes


class Pong(NamedTuple):
    payload: bytes


class Close(NamedTuple):
    code: int
    reason: str


class Part(NamedTuple):
    """A fragment of a message that continues in the next frame."""


Message = Union[Text, Ping, Pong, Close, Part]


def new_key() -> str:
    return base64.b64encode(os.urandom(16)).decode()


def handshake(host: str, target: str, key: str) -> bytes:
    lines = [
        f"GET {target} HTTP/1.1",
        f"Host: {host}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def frame(opcode: int, payload: bytes) -> bytes:
    """One masked frame: a client must mask everything that it sends."""
    length = len(payload)
    if length < 126:
        head = bytes([0x80 | opcode, 0x80 | length])
    elif length < 65_536:
        head = bytes([0x80 | opcode, 0x80 | 126]) + length.to_bytes(2, "big")
    else:
        head = bytes([0x80 | opcode, 0x80 | 127]) + length.to_bytes(8, "big")
    mask = os.urandom(4)
    repeated = (mask * (length // 4 + 1))[:length]
    masked = (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(length, "big")
    return head + mask + masked


class Decoder:
    """Decodes the bytes that arrive, beginning with the answer to the handshake."""

    def __init__(self, key: str) -> None:
        digest = hashlib.sha1((key + GUID).encode()).digest()
        self._accept = base64.b64encode(digest).decode()
        self._buffer = bytearray()
        self._is_open = False
        self._parts: Optional[bytearray] = None
        # Status of the answer to the handshake, once it has arrived.
        self.status: Optional[int] = None

    def feed(self, data: bytes) -> List[Message]:
        self._buffer += data
        if not self._is_open and not self._read_head():
            return []
        messages: List[Message] = []
        while True:
            message = self._read_frame()
            if message is None:
                return messages
            if not isinstance(message, Part):
                messages.append(message)

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end == -1:
            if len(self._buffer) > MAX_HEAD_BYTES:
                raise ProtocolError("The answer to the handshake does not end.")
            return False
        lines = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        try:
            self.status = int(lines[0].split(" ")[1])
        except (IndexError, ValueError):
            raise ProtocolError("The answer to the handshake is not HTTP.") from None
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        if self.status != 101:
            raise ProtocolError(f"The handshake was answered with status {self.status}.")
        if headers.get("sec-websocket-accept") != self._accept or headers.get("upgrade", "").lower() != "websocket":
            raise ProtocolError("The handshake was answered by something else.")
        if headers.get("sec-websocket-extensions"):
            raise ProtocolError("An extension is used that was not offered.")
        self._is_open = True
        return True

    def _read_frame(self) -> Optional[Message]:
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        first, second = buffer[0], buffer[1]
        final, opcode, length = bool(first & 0x80), first & 0x0F, second & 0x7F
        if first & 0x70 or second & 0x80:
            raise ProtocolError("A frame has bits that nobody agreed on.")
        at = 2
        if length >= 126:
            size = 2 if length == 126 else 8
            if len(buffer) < at + size:
                return None
            length = int.from_bytes(buffer[at : at + size], "big")
            at += size
        is_control = opcode >= 8
        if is_control and (length > 125 or not final):
            raise ProtocolError("A control frame is too long or in parts.")
        if length + len(self._parts or b"") > MAX_MESSAGE_BYTES:
            raise ProtocolError("A message is too long.")
        if len(buffer) < at + length:
            return None
        payload = bytes(buffer[at : at + length])
        del buffer[: at + length]
        return self._control(opcode, payload) if is_control else self._data(opcode, final, payload)

    def _control(self, opcode: int, payload: bytes) -> Message:
        if opcode == PING:
            return Ping(payload)
        if opcode == PONG:
            return Pong(payload)
        if opcode != CLOSE:
            raise ProtocolError(f"Frames of kind {opcode} do not exist.")
        if len(payload) == 1:
            raise ProtocolError("A close has half a code.")
        code = int.from_bytes(payload[:2], "big") if payload else 1005
        return Close(code, payload[2:].decode("utf-8", "replace"))

    def _data(self, opcode: int, final: bool, payload: bytes) -> Message:
        if opcode == CONTINUATION:
            if self._parts is None:
                raise ProtocolError("A continuation continues nothing.")
            self._parts += payload
        elif opcode == TEXT:
            if self._parts is not None:
                raise ProtocolError("A message begins inside another one.")
            self._parts = bytearray(payload)
        else:
            raise ProtocolError(f"Frames of kind {opcode} are not expected.")
        if not final:
            return Part()
        whole, self._parts = bytes(self._parts), None
        try:
            return Text(whole.decode("utf-8"))
        except UnicodeDecodeError:
            raise ProtocolError("A message is not UTF-8.") from None


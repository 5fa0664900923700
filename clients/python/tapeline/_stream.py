"""
Chain events over a WebSocket, as one sequence without loss or repetition:

    connect → welcome → subscribe after ``position`` → events → cut → connect again …

``position`` is the number of the last event that was handed out, so events in transit on a lost connection are simply
sent again.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import threading
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Dict, Iterator, List, Mapping, Optional, Sequence
from urllib.parse import quote, urlsplit

from . import _retry
from . import _websocket as ws
from ._errors import StreamError, StreamGapError

if TYPE_CHECKING:
    from ._generated import ChainEvent, EventKind

# The service pings every 20 seconds.
SILENCE_SECONDS = 50.0
CONNECT_SECONDS = 15.0
CHUNK_BYTES = 65_536
# Close codes after which another attempt would not help.
FINAL_CODES = {
    4401: "The key is missing, malformed, unknown, revoked or expired.",
    4403: "The key is paused or may not be used here.",
}
TOO_MANY = 4429
# For up to a minute the service also counts a connection that was lost without its knowledge, for example in a change of
# networks. All attempts together last longer than that.
TOO_MANY_PAUSE = 5.0
ABNORMAL = 1006


class _Sequence:
    """What both kinds of stream share: the position, and how a frame changes it."""

    def __init__(
        self,
        url: str,
        key: str,
        kinds: Sequence[EventKind],
        addresses: Optional[Sequence[str]],
        resume_after: Optional[int],
        on_gap: Optional[Callable[[Dict[str, Any]], None]],
        on_reconnect: Optional[Callable[[], None]],
        retries: int,
    ) -> None:
        parts = urlsplit(url)
        self.host = parts.hostname or ""
        self.is_tls = parts.scheme == "https"
        self.port = parts.port or (443 if self.is_tls else 80)
        self._netloc = parts.netloc
        self._target = f"{parts.path.rstrip('/')}/v1/ws?api_key={quote(key, safe='')}"
        self._kinds = list(kinds)
        self._addresses = None if addresses is None else list(addresses)
        self._on_gap = on_gap
        self._on_reconnect = on_reconnect
        self._retries = retries
        self._failures = 0
        # Attempts that were refused because of too many connections.
        self._refusals = 0
        self._connections = 0
        # Number of the last event that was handed out: ``resume_after`` of the next stream.
        self.position = resume_after

    def begin(self) -> None:
        """Before each connection."""
        if self._connections > 0 and self._on_reconnect:
            self._on_reconnect()
        self._connections += 1

    def open(self) -> tuple[bytes, ws.Decoder]:
        key = ws.new_key()
        return ws.handshake(self._netloc, self._target, key), ws.Decoder(key)

    def pause(self, code: int) -> float:
        """Seconds to wait after a lost connection; raises if another attempt would not help."""
        if code in FINAL_CODES:
            raise StreamError(code, FINAL_CODES[code])
        is_refused = code == TOO_MANY
        if (self._refusals if is_refused else self._failures) >= self._retries:
            raise StreamError(code, f"No connection after {self._retries} attempts.")
        wait = _retry.delay(self._failures, TOO_MANY_PAUSE if is_refused else None)
        if is_refused:
            self._refusals += 1
        else:
            self._failures += 1
        return wait or 0.0

    def read(self, text: str, send: List[bytes]) -> Optional[ChainEvent]:
        """Moves the position; returns the event that is to be handed out."""
        try:
            found = json.loads(text)
        except ValueError as error:
            # The position must not move past an event that was not handed out.
            raise StreamError("unreadable", f"A message cannot be read: {error}") from error
        kind = found.get("type")
        if kind == "event":
            self._failures = self._refusals = 0
            event = found["event"]
            if self.position is not None and event["seq"] <= self.position:
                return None
            self.position = event["seq"]
            return event
        if kind == "welcome":
            send.append(ws.frame(ws.TEXT, json.dumps(self._subscription()).encode()))
        elif kind == "subscribed":
            if self.position is None:
                self.position = found["after_seq"]
        elif kind == "live":
            self._failures = self._refusals = 0
            self.position = max(self.position or 0, found["seq"])
        elif kind == "gap":
            self._gap(found)
        elif kind == "error":
            raise StreamError(found.get("code", "error"), found.get("message", "The subscription was refused."))
        return None

    def _subscription(self) -> Mapping[str, Any]:
        message: Dict[str, Any] = {"op": "subscribe", "kinds": self._kinds}
        if self._addresses is not None:
            message["addresses"] = self._addresses
        if self.position is not None:
            message["resume_after"] = self.position
        return message

    def _gap(self, found: Mapping[str, Any]) -> None:
        gap = {name: value for name, value in found.items() if name != "type"}
        # A position that the log never assigned may be higher than the numbers that follow, so it is replaced.
        is_unknown = gap["reason"] == "unknown_position"
        position = gap["up_to_seq"] if is_unknown else max(self.position or 0, gap["up_to_seq"])
        # A gap that the caller could not take comes again.
        if self._on_gap is not None:
            self._on_gap(gap)
        self.position = position
        if self._on_gap is None:
            raise StreamGapError(gap)


class EventStream:
    """Iterate over it; ``close()``, or leaving a ``with`` block, ends it."""

    def __init__(self, *args: Any) -> None:
        self._sequence = _Sequence(*args)
        self._socket: Optional[socket.socket] = None
        self._closed = threading.Event()

    @property
    def position(self) -> Optional[int]:
        return self._sequence.position

    def __iter__(self) -> Iterator[ChainEvent]:
        try:
            while not self._closed.is_set():
                code = ABNORMAL
                self._sequence.begin()
                # What the caller's own functions raise is the caller's.
                for message in self._messages():
                    if isinstance(message, ws.Close):
                        code = message.code
                        break
                    if isinstance(message, ws.Text):
                        send: List[bytes] = []
                        event = self._sequence.read(message.text, send)
                        for data in send:
                            self._send(data)
                        if event is not None:
                            yield event
                self._disconnect()
                if not self._closed.is_set():
                    self._closed.wait(self._sequence.pause(code))
        finally:
            # Not closed: another loop goes on where this one ended.
            self._disconnect()

    def _messages(self) -> Iterator[ws.Message]:
        """Ends when the connection does."""
        try:
            decoder = self._connect()
            while True:
                connection = self._socket
                data = connection.recv(CHUNK_BYTES) if connection is not None else b""
                if not data:
                    return
                for message in decoder.feed(data):
                    if isinstance(message, ws.Ping):
                        self._send(ws.frame(ws.PONG, message.payload))
                    else:
                        yield message
        except (OSError, ws.ProtocolError):
            return

    def _connect(self) -> ws.Decoder:
        sequence = self._sequence
        request, decoder = sequence.open()
        connection = socket.create_connection((sequence.host, sequence.port), CONNECT_SECONDS)
        self._socket = connection
        if sequence.is_tls and not self._closed.is_set():
            connection = ssl.create_default_context().wrap_socket(connection, server_hostname=sequence.host)
            self._socket = connection
        # The stream was closed while it connected.
        if self._closed.is_set():
            self._disconnect()
            return decoder
        connection.sendall(request)
        connection.settimeout(SILENCE_SECONDS)
        return decoder

    def _send(self, data: bytes) -> None:
        # Read once, because another thread may close the stream meanwhile.
        connection = self._socket
        if connection is None:
            return
        try:
            connection.sendall(data)
        except OSError:
            self._disconnect()

    def _disconnect(self) -> None:
        connection, self._socket = self._socket, None
        if connection is None:
            return
        try:
            # Wakes a thread that is waiting for the next event.
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        connection.close()

    def close(self) -> None:
        self._closed.set()
        self._disconnect()

    def __enter__(self) -> EventStream:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class AsyncEventStream:
    """Iterate over it with ``async for``; leaving an ``async with`` block, or ``close()``, ends it."""

    def __init__(self, *args: Any) -> None:
        self._sequence = _Sequence(*args)
        self._writer: Optional[asyncio.StreamWriter] = None
        self._is_closed = False

    @property
    def position(self) -> Optional[int]:
        return self._sequence.position

    async def __aiter__(self) -> AsyncIterator[ChainEvent]:
        try:
            while not self._is_closed:
                code = ABNORMAL
                self._sequence.begin()
                # What the caller's own functions raise is the caller's.
                async for message in self._messages():
                    if isinstance(message, ws.Close):
                        code = message.code
                        break
                    if isinstance(message, ws.Text):
                        send: List[bytes] = []
                        event = self._sequence.read(message.text, send)
                        for data in send:
                            await self._send(data)
                        if event is not None:
                            yield event
                self._disconnect()
                if not self._is_closed:
                    await asyncio.sleep(self._sequence.pause(code))
        finally:
            # Not closed: another loop goes on where this one ended.
            self._disconnect()

    async def _messages(self) -> AsyncIterator[ws.Message]:
        """Ends when the connection does."""
        sequence = self._sequence
        try:
            request, decoder = sequence.open()
            context = ssl.create_default_context() if sequence.is_tls else None
            opening = asyncio.open_connection(sequence.host, sequence.port, ssl=context)
            reader, self._writer = await asyncio.wait_for(opening, CONNECT_SECONDS)
            await self._send(request)
            # Until the stream is closed, which may have happened while it connected.
            while not self._is_closed:
                data = await asyncio.wait_for(reader.read(CHUNK_BYTES), SILENCE_SECONDS)
                if not data:
                    return
                for message in decoder.feed(data):
                    if isinstance(message, ws.Ping):
                        await self._send(ws.frame(ws.PONG, message.payload))
                    else:
                        yield message
        except (OSError, asyncio.TimeoutError, ws.ProtocolError):
            return

    async def _send(self, data: bytes) -> None:
        if self._writer is None:
            return
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError:
            self._disconnect()

    def _disconnect(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def close(self) -> None:
        self._is_closed = True
        self._disconnect()

    async def __aenter__(self) -> AsyncEventStream:
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.close()

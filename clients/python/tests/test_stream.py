"""The stream against a server that refuses, has gaps, and repeats itself. Cuts are in the scenarios."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import socket
import threading
import time
import unittest
from typing import Any, Callable, List
from unittest import mock

import tapeline
from tapeline import _websocket as ws

from .test_websocket import server_frame


class StreamServer:
    """Sends a welcome, then what `frames` returns for the n-th connection, then closes with its code."""

    def __init__(self, frames: Callable[[int, Any], List[Any]], code: int = 1001) -> None:
        self.subscriptions: List[Any] = []
        self._frames, self._code = frames, code
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                try:
                    self._talk(connection)
                except OSError:
                    pass

    def _talk(self, connection: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(4096)
        key = next(line.split(b": ")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key"))
        accept = base64.b64encode(hashlib.sha1(key + ws.GUID.encode()).digest()).decode()
        connection.sendall(
            f"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n".encode()
        )
        self._send(connection, {"type": "welcome", "seq": 0})
        data = connection.recv(65_536)
        length, at = data[1] & 0x7F, 2
        if length == 126:
            length, at = int.from_bytes(data[2:4], "big"), 4
        mask, masked = data[at : at + 4], data[at + 4 : at + 4 + length]
        self.subscriptions.append(json.loads(bytes(byte ^ mask[n % 4] for n, byte in enumerate(masked))))
        for frame in self._frames(len(self.subscriptions), self.subscriptions[-1]):
            self._send(connection, frame)
        connection.sendall(server_frame(ws.CLOSE, self._code.to_bytes(2, "big")))
        connection.settimeout(2)
        connection.recv(65_536)

    @staticmethod
    def _send(connection: socket.socket, frame: Any) -> None:
        text = frame if isinstance(frame, str) else json.dumps(frame)
        connection.sendall(server_frame(ws.TEXT, text.encode()))

    def __enter__(self) -> StreamServer:
        return self

    def __exit__(self, *_: Any) -> None:
        self._listener.close()


def event(seq: int) -> Any:
    return {"type": "event", "event": {"seq": seq, "kind": "block_added"}}


def take(stream: Any, count: int) -> List[int]:
    """From both kinds of stream."""
    if isinstance(stream, tapeline.EventStream):
        found = []
        for each in stream:
            found.append(each["seq"])
            if len(found) == count:
                break
        return found

    async def collect() -> List[int]:
        found = []
        async with stream:
            async for each in stream:
                found.append(each["seq"])
                if len(found) == count:
                    break
        return found

    return asyncio.run(collect())


class Streams(unittest.TestCase):
    def both(self, server: StreamServer, **more: Any) -> List[Any]:
        return [
            kind(server.url, "k").stream(["block_added"], **more) for kind in (tapeline.Client, tapeline.AsyncClient)
        ]

    def test_goes_on_behind_the_last_event_and_hands_none_out_twice(self) -> None:
        def frames(connection: int, subscription: Any) -> List[Any]:
            after = subscription["resume_after"]
            # One that was sent already comes again.
            return [{"type": "subscribed", "after_seq": after}, event(after), event(after + 1), event(after + 2)]

        for n in range(2):
            with StreamServer(frames) as server:
                stream = self.both(server, resume_after=10)[n]
                self.assertEqual(take(stream, 5), [11, 12, 13, 14, 15])
                self.assertEqual(stream.position, 15)
                self.assertEqual([each["resume_after"] for each in server.subscriptions], [10, 12, 14])

    def test_without_a_position_it_starts_where_the_service_says(self) -> None:
        def frames(connection: int, subscription: Any) -> List[Any]:
            return [{"type": "subscribed", "after_seq": 7}] if connection == 1 else [event(8)]

        for n in range(2):
            with StreamServer(frames) as server:
                self.assertEqual(take(self.both(server)[n], 1), [8])
                self.assertEqual(server.subscriptions, [{"op": "subscribe", "kinds": ["block_added"]}, {"op": "subscribe", "kinds": ["block_added"], "resume_after": 7}])

    def test_ends_where_another_attempt_does_not_help(self) -> None:
        refusal = [{"type": "error", "code": "invalid_param", "message": "No."}]
        for n in range(2):
            with StreamServer(lambda *_: [], code=4401) as server:
                with self.assertRaises(tapeline.StreamError) as caught:
                    take(self.both(server)[n], 1)
                self.assertEqual((caught.exception.code, len(server.subscriptions)), (4401, 1))
            with StreamServer(lambda *_: refusal) as server, self.assertRaisesRegex(tapeline.StreamError, "No."):
                take(self.both(server)[n], 1)
            with StreamServer(lambda *_: []) as server, self.assertRaises(tapeline.StreamError):
                take(self.both(server, retries=1)[n], 1)

    def test_the_attempts_outlast_the_minute_for_which_the_service_still_counts_the_connection_that_was_lost(self) -> None:
        stream = tapeline.Client("http://127.0.0.1:9", "k").stream(["block_added"], resume_after=0)
        # The network is down for a while before the service refuses.
        for _ in range(15):
            stream._sequence.pause(1006)
        self.assertGreater(sum(stream._sequence.pause(4429) for _ in range(20)), 90)
        with self.assertRaises(tapeline.StreamError):
            stream._sequence.pause(4429)

    def test_a_gap_is_an_error_unless_the_caller_takes_it(self) -> None:
        gap = {"after_seq": 3, "up_to_seq": 9, "reason": "retention"}
        for n in range(2):
            with StreamServer(lambda *_: [{"type": "gap", **gap}, event(10)]) as server:
                stream = self.both(server, resume_after=3)[n]
                with self.assertRaises(tapeline.StreamGapError) as caught:
                    take(stream, 1)
                self.assertEqual((caught.exception.gap, stream.position), (gap, 9))
            gaps: List[Any] = []
            with StreamServer(lambda *_: [{"type": "gap", **gap}, event(10)]) as server:
                self.assertEqual(take(self.both(server, resume_after=3, on_gap=gaps.append)[n], 1), [10])
                self.assertEqual(gaps, [gap])
            unknown = {"type": "gap", "after_seq": 99, "up_to_seq": 5, "reason": "unknown_position"}
            with StreamServer(lambda *_: [unknown, event(6)]) as server:
                self.assertEqual(take(self.both(server, resume_after=99, on_gap=gaps.append)[n], 1), [6])

    def test_a_gap_that_the_caller_could_not_take_comes_again(self) -> None:
        gap = {"after_seq": 3, "up_to_seq": 9, "reason": "retention"}

        def fail(*_: Any) -> None:
            raise OSError("The disk is full.")

        for n in range(2):
            with StreamServer(lambda *_: [{"type": "gap", **gap}, event(10)]) as server:
                stream = self.both(server, resume_after=3, on_gap=fail, retries=1)[n]
                with self.assertRaisesRegex(OSError, "disk is full"):
                    take(stream, 1)
                self.assertEqual(stream.position, 3)
            with StreamServer(lambda *_: []) as server, self.assertRaisesRegex(OSError, "disk is full"):
                take(self.both(server, on_reconnect=fail, retries=1)[n], 1)

    def test_a_message_that_cannot_be_read_ends_the_stream_behind_the_last_event_that_was_handed_out(self) -> None:
        for n in range(2):
            with StreamServer(lambda *_: [event(1), "{", event(3)]) as server:
                stream = self.both(server, resume_after=0)[n]
                with self.assertRaises(tapeline.StreamError) as caught:
                    take(stream, 2)
                self.assertEqual((caught.exception.code, stream.position), ("unreadable", 1))

    def test_a_stream_that_is_closed_while_it_connects_ends(self) -> None:
        connect, open_connection = socket.create_connection, asyncio.open_connection
        for n in range(2):
            with StreamServer(lambda *_: [event(1)]) as server:
                stream = self.both(server, resume_after=0)[n]

                def close_and_connect(*args: Any) -> Any:
                    stream.close()
                    return connect(*args)

                async def close_and_open(*args: Any, **more: Any) -> Any:
                    stream.close()
                    return await open_connection(*args, **more)

                with mock.patch("socket.create_connection", close_and_connect), mock.patch("asyncio.open_connection", close_and_open):
                    self.assertEqual(take(stream, 1), [])

    def test_a_stream_that_waits_to_connect_again_can_be_closed(self) -> None:
        stream = tapeline.Client("http://127.0.0.1:9", "k").stream(["block_added"], resume_after=0)
        stream._sequence.pause = lambda _: stream.close() or 20  # type: ignore[method-assign]
        before = time.monotonic()
        self.assertEqual(take(stream, 1), [])
        self.assertLess(time.monotonic() - before, 10)

    def test_a_stream_that_waits_can_be_closed_from_outside(self) -> None:
        with StreamServer(lambda *_: [event(1)], code=1001) as server:
            stream = tapeline.Client(server.url, "k").stream(["block_added"], resume_after=0)
            seen = []
            for each in stream:
                seen.append(each)
                stream.close()
            self.assertEqual(len(seen), 1)

    def test_a_stream_may_be_closed_by_another_thread_while_it_sends(self) -> None:
        stream = tapeline.Client("http://127.0.0.1:9", "k").stream(["block_added"], resume_after=0)
        closed_after_the_first_look = mock.PropertyMock(side_effect=[mock.Mock(), None])
        with mock.patch.object(type(stream), "_socket", closed_after_the_first_look, create=True):
            stream._send(b"pong")


if __name__ == "__main__":
    unittest.main()

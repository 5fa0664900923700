"""The codec on its own: frames in any pieces, and everything that a server may not send."""

from __future__ import annotations

import base64
import hashlib
import random
import unittest

from tapeline import _websocket as ws

KEY = "dGhlIHNhbXBsZSBub25jZQ=="
# The example of RFC 6455, section 1.3.
ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


def head(accept: str = ACCEPT, status: str = "101 Switching Protocols", more: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n{more}\r\n".encode()


def server_frame(opcode: int, payload: bytes, final: bool = True) -> bytes:
    length = len(payload)
    first = bytes([(0x80 if final else 0) | opcode])
    if length < 126:
        return first + bytes([length]) + payload
    if length < 65_536:
        return first + bytes([126]) + length.to_bytes(2, "big") + payload
    return first + bytes([127]) + length.to_bytes(8, "big") + payload


def opened() -> ws.Decoder:
    decoder = ws.Decoder(KEY)
    assert decoder.feed(head()) == []
    return decoder


class Codec(unittest.TestCase):
    def test_messages_arrive_whole_however_the_bytes_are_cut(self) -> None:
        texts = ["", "a", "ü✓", "x" * 125, "y" * 126, "z" * 65_536]
        data = head()
        for text in texts:
            data += server_frame(ws.TEXT, text.encode())
        raw = "halves ✓".encode()
        # A ping may come between the parts of a message, and a character may be cut in two.
        data += server_frame(ws.TEXT, raw[:8], final=False) + server_frame(ws.PING, b"p")
        data += server_frame(ws.CONTINUATION, raw[8:]) + server_frame(ws.PONG, b"") + server_frame(ws.CLOSE, b"\x10\x30no")
        expected = [ws.Text(text) for text in texts]
        expected += [ws.Ping(b"p"), ws.Text("halves ✓"), ws.Pong(b""), ws.Close(4144, "no")]
        seed = random.randrange(2**32)
        drawn = random.Random(seed)
        for _ in range(20):
            decoder, found, at = ws.Decoder(KEY), [], 0
            while at < len(data):
                size = drawn.choice([1, 2, 3, 7, 100, 5_000, 70_000])
                found += decoder.feed(data[at : at + size])
                at += size
            self.assertEqual(found, expected, f"seed {seed}")

    def test_what_is_sent_is_masked_and_reads_back(self) -> None:
        for length in (0, 1, 125, 126, 65_535, 65_536):
            payload = random.randbytes(length)
            data = ws.frame(ws.TEXT, payload)
            self.assertEqual(data[0], 0x81)
            self.assertTrue(data[1] & 0x80)
            size = {126: 2, 127: 8}.get(data[1] & 0x7F, 0)
            mask, masked = data[2 + size : 6 + size], data[6 + size :]
            self.assertEqual(bytes(byte ^ mask[n % 4] for n, byte in enumerate(masked)), payload)

    def test_a_server_that_breaks_the_protocol_is_noticed(self) -> None:
        broken = {
            "reserved bits": bytes([0xC1, 0]),
            "a masked frame": bytes([0x81, 0x80, 0, 0, 0, 0]),
            "a long control frame": bytes([0x89, 126, 0, 200]),
            "a control frame in parts": bytes([0x09, 0]),
            "a continuation of nothing": server_frame(ws.CONTINUATION, b"x"),
            "a message inside another": server_frame(ws.TEXT, b"a", final=False) + server_frame(ws.TEXT, b"b"),
            "binary": server_frame(ws.BINARY, b"x"),
            "an unknown kind": server_frame(3, b"x"),
            "an unknown control frame": server_frame(11, b""),
            "text that is not UTF-8": server_frame(ws.TEXT, b"\xff"),
            "half a close code": server_frame(ws.CLOSE, b"\x03"),
            "a message without end": bytes([0x81, 127]) + (1 << 40).to_bytes(8, "big"),
        }
        for what, data in broken.items():
            with self.subTest(what), self.assertRaises(ws.ProtocolError):
                opened().feed(data)

    def test_parts_together_have_a_limit(self) -> None:
        decoder = opened()
        part = b"x" * (ws.MAX_MESSAGE_BYTES // 4 + 1)
        decoder.feed(server_frame(ws.TEXT, part, final=False))
        with self.assertRaises(ws.ProtocolError):
            for _ in range(4):
                decoder.feed(server_frame(ws.CONTINUATION, part, final=False))

    def test_the_handshake_must_be_answered_to_this_client(self) -> None:
        wrong = [
            head(accept=base64.b64encode(hashlib.sha1(b"other").digest()).decode()),
            head(status="429 Too Many Requests"),
            head(more="Sec-WebSocket-Extensions: permessage-deflate\r\n"),
            b"SSH-2.0-OpenSSH\r\n\r\n",
            b"x" * (ws.MAX_HEAD_BYTES + 1),
        ]
        for data in wrong:
            with self.subTest(data[:40]), self.assertRaises(ws.ProtocolError):
                ws.Decoder(KEY).feed(data)


if __name__ == "__main__":
    unittest.main()

"""A small HTTP server that answers as a test says, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple


class Asked(NamedTuple):
    method: str
    path: str
    headers: Dict[str, str]
    body: bytes


# Status, headers, body; None closes the connection without an answer.
Reply = Optional[Tuple[int, Dict[str, str], Any]]


class StubService:
    def __init__(self, reply: Callable[[int, Asked], Reply]) -> None:
        self.asked: List[Asked] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(self.command, self.path, headers, body)
                stub.asked.append(asked)
                answer = reply(len(stub.asked) - 1, asked)
                if answer is None:
                    self.close_connection = True
                    return
                status, more, content = answer
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in more.items():
                    self.send_header(name, value)
                if "Content-Length" not in more:
                    self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                # A length that is longer than the body: the connection ends inside the answer.
                self.close_connection = "Content-Length" in more

            do_GET = do_POST = do_PATCH = do_DELETE = answer

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self) -> StubService:
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.shutdown()
        self._server.server_close()

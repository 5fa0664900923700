"""
One call: send → answer, error, or nothing → again if that is safe.

    200, 201           the answer; kept with its tag if it has one
    304                the kept answer, at 0 credits
    429, 503           again, after Retry-After
    408, 500, 502, 504, no answer: again if the request is safe to repeat (_retry.py)
    anything else      the error of that code
"""

from __future__ import annotations

import gzip
import http.client
import json
import math
import ssl
import threading
import time
import uuid
import zlib
from datetime import datetime, timezone
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Set, Tuple
from urllib.parse import quote, urlencode, urlsplit

from . import _retry
from ._errors import ApiError, ConnectionLost, UnreadableAnswerError
from ._etag_cache import CachedAnswer, EtagCache
from ._generated import ERROR_CLASSES
from ._in_thread import abandoned
from ._operation import Operation

CHUNK_BYTES = 1 << 18
MAX_IDLE_CONNECTIONS = 8
REDIRECTS = (301, 302, 303, 307, 308)
# The service takes larger numbers as milliseconds, others as seconds.
MIN_EPOCH_MILLISECONDS = 1e11


class AnswerInfo(NamedTuple):
    """What an answer cost and where it came from."""

    method: str
    url: str
    status: int
    credits: int
    credits_remaining: Optional[int]
    request_id: str
    from_cache: bool
    # Earlier attempts that got no answer. The service may have carried out, and charged, each of them.
    lost_attempts: int


class Answer(NamedTuple):
    body: bytes
    info: AnswerInfo

    def parsed(self, **options: Any) -> Any:
        try:
            return json.loads(self.body, **options)
        except ValueError as error:
            raise self.unreadable(error) from error

    def unreadable(self, error: ValueError) -> UnreadableAnswerError:
        url, status, request_id = self.info.url, self.info.status, self.info.request_id
        return UnreadableAnswerError(f"The answer to {url} cannot be read: {error}", status, request_id)


class Transport:
    """Safe to use from several threads."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        retries: int,
        timeout: float,
        cache_bytes: int,
        on_answer: Optional[Callable[[AnswerInfo], None]],
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not an http or https address.")
        self.url = url.rstrip("/")
        self.key = key
        self.timeout = timeout
        self._host, self._port = parts.hostname, parts.port
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._prefix = parts.path.rstrip("/")
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._retries = retries
        self._cache = EtagCache(cache_bytes)
        self._on_answer = on_answer
        self._idle: List[http.client.HTTPConnection] = []
        # Of calls that wait for their next attempt.
        self._pauses: Set[threading.Event] = set()
        self._lock = threading.Lock()

    def call(
        self, operation: Operation, params: Mapping[str, Any], body: Any = None, max_lost: Optional[int] = None
    ) -> Answer:
        """``max_lost``: how many attempts may go unanswered before it gives up, since each may have been charged."""
        method = operation.method
        target = self._prefix + target_of(operation.path, with_times(operation, params))
        kept = self._cache.get(target) if method == "GET" else None
        if kept is not None and kept.is_immutable:
            return self._from_cache(method, target, kept.body, "", None, 0)
        content = None if body is None else json.dumps(without_none(with_times(operation, body))).encode()
        headers = self._headers(operation, kept.etag if kept else None, body)
        lost = 0
        attempt = 0
        stop = abandoned.get() or threading.Event()
        # A list that was given up does not read its next page.
        if stop.is_set():
            raise ConnectionLost(f"{method} {target} was not sent: nobody waits for it.", lost)
        while True:
            may_repeat = attempt < self._retries
            try:
                status, got, data = self._attempt(method, target, headers, content)
            except (OSError, http.client.HTTPException, EOFError, zlib.error) as error:
                lost += 1
                is_over = max_lost is not None and lost > max_lost
                is_final = not may_repeat or is_over or not _retry.is_repeatable(method)
                if is_final or not self._pause(_retry.delay(attempt, None) or 0, stop):
                    raise ConnectionLost(f"No answer to {method} {target}: {error!r}", lost) from error
                attempt += 1
                continue
            request_id = got.get("x-request-id", "")
            remaining = int_of(got.get("x-credits-remaining"))
            if status == 304 and kept is not None:
                return self._from_cache(method, target, kept.body, request_id, remaining, lost)
            used = int_of(got.get("x-credits-used")) or 0
            info = AnswerInfo(method, self._origin + target, status, used, remaining, request_id, False, lost)
            if self._on_answer:
                self._on_answer(info)
            if 200 <= status < 300:
                # A page that something else answered is not kept.
                if method == "GET" and "etag" in got and data.startswith(b"{"):
                    immutable = "immutable" in got.get("cache-control", "")
                    self._cache.set(target, CachedAnswer(got["etag"], data, immutable))
                return Answer(data, info)
            failure = error_of(status, got, data, self._origin + target)
            wait = _retry.delay(attempt, failure.retry_after)
            is_final = not may_repeat or not _retry.should_retry(method, failure)
            if is_final or wait is None or not self._pause(wait, stop):
                raise failure
            attempt += 1

    def _pause(self, seconds: float, stop: threading.Event) -> bool:
        """False if there is to be no other attempt: the call was cancelled, or the client closed."""
        with self._lock:
            self._pauses.add(stop)
        is_over = stop.wait(seconds)
        with self._lock:
            self._pauses.discard(stop)
        return not is_over

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
            for stop in self._pauses:
                stop.set()
        for connection in idle:
            connection.close()

    def __del__(self) -> None:
        # If the constructor refused the address, there is no lock and there are no connections.
        if hasattr(self, "_lock"):
            self.close()

    def _headers(self, operation: Operation, etag: Optional[str], body: Any) -> Dict[str, str]:
        headers = {"Accept": "application/json", "Accept-Encoding": "gzip", "X-API-Key": self.key}
        if etag is not None:
            headers["If-None-Match"] = etag
        if operation.method == "POST" and needs_key(operation.path, body):
            headers["Idempotency-Key"] = str(uuid.uuid4())
        if body is not None:
            headers["Content-Type"] = "application/json"
        return headers

    def _attempt(
        self, method: str, target: str, headers: Mapping[str, str], content: Optional[bytes]
    ) -> Tuple[int, Dict[str, str], bytes]:
        deadline = time.monotonic() + self.timeout
        # A DELETE is not repeated, so it does not risk an idle connection that the service may be about to close.
        connection = self._connection(fresh=method == "DELETE")
        try:
            connection.timeout = self.timeout
            if connection.sock is None:
                connection.connect()
            sock = connection.sock
            sock.settimeout(max(0.001, deadline - time.monotonic()))
            connection.request(method, target, content, dict(headers))
            response = connection.getresponse()
            chunks = []
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError("the answer took too long")
                # The socket is already closed if the whole answer has been read.
                if sock.fileno() != -1:
                    sock.settimeout(left)
                chunk = response.read(CHUNK_BYTES)
                if not chunk:
                    break
                chunks.append(chunk)
            # http.client does not report a body that ends early if it is read in parts.
            if response.length:
                raise http.client.IncompleteRead(b"".join(chunks), response.length)
        except BaseException:
            connection.close()
            raise
        got = {name.lower(): value for name, value in response.getheaders()}
        self._give_back(connection, response)
        data = b"".join(chunks)
        return response.status, got, gzip.decompress(data) if got.get("content-encoding") == "gzip" and data else data

    def _connection(self, fresh: bool) -> http.client.HTTPConnection:
        with self._lock:
            if self._idle and not fresh:
                return self._idle.pop()
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=self.timeout)
        return http.client.HTTPSConnection(self._host, self._port, timeout=self.timeout, context=self._tls)

    def _give_back(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        with self._lock:
            if not response.will_close and len(self._idle) < MAX_IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()

    def _from_cache(
        self, method: str, target: str, body: bytes, request_id: str, remaining: Optional[int], lost: int
    ) -> Answer:
        info = AnswerInfo(method, self._origin + target, 304, 0, remaining, request_id, True, lost)
        if self._on_answer:
            self._on_answer(info)
        return Answer(body, info)


def needs_key(path: str, body: Any) -> bool:
    """
    Calls that only read are repeated like a GET: a plan allows a certain number of keys a day, and the service stores an
    answer for each.
    """
    if path != "/rpc":
        return True
    calls = body if isinstance(body, (list, tuple)) else [body]
    return any(isinstance(call, dict) and str(call.get("method")).startswith("submit") for call in calls)


def target_of(path: str, params: Mapping[str, Any]) -> str:
    query = {}
    for name, value in params.items():
        if value is None:
            continue
        place = "{" + name + "}"
        if place in path:
            path = path.replace(place, quote(text_of(value), safe=""))
        else:
            query[name] = text_of(value)
    return f"{path}?{urlencode(query)}" if query else path


def with_times(operation: Operation, given: Any) -> Any:
    """As JSON has no times, and the service takes seconds and milliseconds without a fraction."""
    if not isinstance(given, dict) or not operation.given_times:
        return given
    return {name: time_of(value) if name in operation.given_times else value for name, value in given.items()}


def time_of(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso_of(value)
    if isinstance(value, float) and math.isfinite(value) and not value.is_integer():
        seconds = value if value < MIN_EPOCH_MILLISECONDS else value / 1000
        return iso_of(datetime.fromtimestamp(seconds, timezone.utc))
    return value


def iso_of(time: datetime) -> str:
    # A time without a zone is taken as UTC.
    aware = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
    return aware.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return iso_of(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def without_none(body: Any) -> Any:
    """Removes arguments that were left out."""
    return {name: value for name, value in body.items() if value is not None} if isinstance(body, dict) else body


def error_of(status: int, headers: Mapping[str, str], data: bytes, url: str) -> ApiError:
    if status in REDIRECTS:
        place = headers.get("location", "another address")
        text = f"{url} redirects to {place}. Requests with a key follow no redirect: change the client's url."
        return ApiError(status, {"message": text})
    try:
        details = json.loads(data)
    except ValueError:
        # A proxy in between may answer anything.
        details = {}
    if isinstance(details, list) and details:
        # `/rpc` answers a batch with a list.
        details = details[0]
    if not isinstance(details, dict):
        details = {}
    if isinstance(details.get("error"), dict):
        # `/rpc` answers with a JSON-RPC error.
        details = {"error": str(details["error"].get("code")), "message": details["error"].get("message")}
    kind = ERROR_CLASSES.get(str(details.get("error")), ApiError)
    return kind(status, details, _retry.read_retry_after(headers.get("retry-after")))


def int_of(text: Optional[str]) -> Optional[int]:
    return int(text) if text else None

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import NamedTuple, Optional


class CachedAnswer(NamedTuple):
    etag: str
    body: bytes
    # A sealed page never changes, so it is not requested again.
    is_immutable: bool


class EtagCache:
    """Answers with their tags; the least recently used ones are evicted first."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._answers: OrderedDict[str, CachedAnswer] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, url: str) -> Optional[CachedAnswer]:
        with self._lock:
            answer = self._answers.get(url)
            if answer is not None:
                self._answers.move_to_end(url)
            return answer

    def set(self, url: str, answer: CachedAnswer) -> None:
        with self._lock:
            old = self._answers.pop(url, None)
            self._bytes -= len(old.body) if old else 0
            if len(answer.body) > self._max_bytes:
                return
            self._answers[url] = answer
            self._bytes += len(answer.body)
            while self._bytes > self._max_bytes:
                _, dropped = self._answers.popitem(last=False)
                self._bytes -= len(dropped.body)

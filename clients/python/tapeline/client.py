from __future__ import annotations

import os
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional, Sequence

from ._async_rows import AsyncRows
from ._generated import OPERATIONS, AsyncMethods, Methods
from ._in_thread import in_thread
from ._operation import Operation
from ._rows import Rows
from ._stream import AsyncEventStream, EventStream
from ._transport import AnswerInfo, Transport

if TYPE_CHECKING:
    from ._generated import DryRun, EventKind


def operation_named(name: str) -> Operation:
    if name not in OPERATIONS:
        near = get_close_matches(name, OPERATIONS, 1)
        raise ValueError(f"There is no method {name!r}." + (f" Did you mean {near[0]!r}?" if near else ""))
    return OPERATIONS[name]


class _Settings:
    """What both clients share."""

    def __init__(
        self,
        url: Optional[str] = None,
        key: Optional[str] = None,
        *,
        retries: int = 5,
        timeout: float = 30.0,
        cache_bytes: int = 1 << 24,
        on_answer: Optional[Callable[[AnswerInfo], None]] = None,
    ) -> None:
        """
        ``url`` and ``key`` default to ``TAPELINE_URL`` and ``TAPELINE_KEY``. ``timeout`` is for one attempt, up to the
        end of its answer; ``retries`` is the number of attempts after the first one.
        """
        url = url or os.environ.get("TAPELINE_URL")
        key = key or os.environ.get("TAPELINE_KEY")
        if not url or not key:
            raise ValueError("Give url and key, or set TAPELINE_URL and TAPELINE_KEY.")
        self._transport = Transport(
            url, key, retries=retries, timeout=timeout, cache_bytes=cache_bytes, on_answer=on_answer
        )

    def _sync_rows(self, operation: Operation, params: Mapping[str, Any]) -> Rows[Any, Any]:
        return Rows(operation, params, lambda given, max_lost: self._transport.call(operation, given, None, max_lost))

    def _sync_answer(self, operation: Operation, params: Mapping[str, Any], body: Any = None) -> Any:
        return self._transport.call(operation, params, body).parsed()

    def _stream_args(
        self,
        kinds: Sequence[EventKind],
        addresses: Optional[Sequence[str]],
        resume_after: Optional[int],
        on_gap: Optional[Callable[[Dict[str, Any]], None]],
        on_reconnect: Optional[Callable[[], None]],
        retries: int,
    ) -> tuple[Any, ...]:
        return (
            self._transport.url,
            self._transport.key,
            kinds,
            addresses,
            resume_after,
            on_gap,
            on_reconnect,
            retries,
        )


class Client(_Settings, Methods):
    """The whole API. Methods are named after the endpoints; arguments and fields have the names of the reference."""

    def cost(self, name: str, **params: Any) -> DryRun:
        """What a call would cost, without making it: ``tl.cost("snapshots_at", symbol="BTC", …)``."""
        return self._sync_answer(operation_named(name), {**params, "dry_run": True})

    def stream(
        self,
        kinds: Sequence[EventKind],
        addresses: Optional[Sequence[str]] = None,
        resume_after: Optional[int] = None,
        *,
        on_gap: Optional[Callable[[Dict[str, Any]], None]] = None,
        on_reconnect: Optional[Callable[[], None]] = None,
        retries: int = 20,
    ) -> EventStream:
        """Chain events, without loss or repetition over any number of connections."""
        return EventStream(*self._stream_args(kinds, addresses, resume_after, on_gap, on_reconnect, retries))

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _rows(self, operation: Operation, params: Mapping[str, Any]) -> Rows[Any, Any]:
        return self._sync_rows(operation, params)

    def _answer(self, operation: Operation, params: Mapping[str, Any], body: Any = None) -> Any:
        return self._sync_answer(operation, params, body)


class AsyncClient(_Settings, AsyncMethods):
    """The same API as coroutines. Requests run in threads; the stream runs on the event loop."""

    async def cost(self, name: str, **params: Any) -> DryRun:
        """What a call would cost, without making it."""
        return await self._answer(operation_named(name), {**params, "dry_run": True})

    def stream(
        self,
        kinds: Sequence[EventKind],
        addresses: Optional[Sequence[str]] = None,
        resume_after: Optional[int] = None,
        *,
        on_gap: Optional[Callable[[Dict[str, Any]], None]] = None,
        on_reconnect: Optional[Callable[[], None]] = None,
        retries: int = 20,
    ) -> AsyncEventStream:
        """Chain events, without loss or repetition over any number of connections."""
        return AsyncEventStream(*self._stream_args(kinds, addresses, resume_after, on_gap, on_reconnect, retries))

    async def close(self) -> None:
        self._transport.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    def _rows(self, operation: Operation, params: Mapping[str, Any]) -> AsyncRows[Any, Any]:
        return AsyncRows(self._sync_rows(operation, params))

    async def _answer(self, operation: Operation, params: Mapping[str, Any], body: Any = None) -> Any:
        return await in_thread(self._sync_answer, operation, params, body)

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, Callable, Optional, TypeVar

T = TypeVar("T")

# In the thread of a call: set once nobody waits for the call any more.
abandoned: ContextVar[Optional[threading.Event]] = ContextVar("abandoned", default=None)


async def in_thread(act: Callable[..., T], *args: Any) -> T:
    """A thread cannot be interrupted, but once its call is cancelled it sends no further requests."""
    event = threading.Event()
    context = copy_context()
    context.run(abandoned.set, event)
    try:
        return await asyncio.get_running_loop().run_in_executor(None, partial(context.run, act, *args))
    finally:
        event.set()

"""Client of the Tapeline API: market history, Kaspa node access, chain events."""

from . import _generated as types
from ._async_rows import AsyncRows
from ._errors import (
    ApiError,
    ConnectionLost,
    CreditLimitError,
    StreamError,
    StreamGapError,
    TapelineError,
    UnreadableAnswerError,
    WebhookSignatureError,
)
from ._generated import *  # noqa: F403 - a class for every error code, a type for every schema
from ._rows import Page, Rows
from ._stream import AsyncEventStream, EventStream
from ._transport import AnswerInfo
from ._webhook import verify_webhook
from .client import AsyncClient, Client

__all__ = [
    "AnswerInfo",
    "AsyncClient",
    "AsyncEventStream",
    "AsyncRows",
    "Client",
    "ApiError",
    "ConnectionLost",
    "CreditLimitError",
    "EventStream",
    "Page",
    "Rows",
    "StreamError",
    "StreamGapError",
    "TapelineError",
    "UnreadableAnswerError",
    "WebhookSignatureError",
    "types",
    "verify_webhook",
    *(name for name in dir(types) if name.endswith("Error") and name != "ApiError"),
]

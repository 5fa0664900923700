from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from typing import TYPE_CHECKING, List, Mapping, Optional, Union

from ._errors import WebhookSignatureError

if TYPE_CHECKING:
    from ._generated import ChainEvent

PREFIX = "whsec_"


def verify_webhook(
    headers: Mapping[str, str],
    body: Union[bytes, str],
    secret: str,
    *,
    tolerance_seconds: float = 300,
    now: Optional[float] = None,
) -> List[ChainEvent]:
    """
    Returns the events of a delivery (one, or several of a batch), or raises ``WebhookSignatureError``. ``body`` must be
    the bytes as they arrived. The signature covers id, time and body, so an old delivery that somebody replays is
    refused too.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        id_, timestamp, signatures = (given[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
    except KeyError as error:
        raise WebhookSignatureError(f"{error.args[0]} is missing.") from None
    raw = body.encode() if isinstance(body, str) else bytes(body)
    expected = hmac.new(_key_bytes(secret), f"{id_}.{timestamp}.".encode() + raw, hashlib.sha256).digest()
    wanted = b"v1," + base64.b64encode(expected)
    if not any([hmac.compare_digest(wanted, each.encode()) for each in signatures.split(" ")]):
        raise WebhookSignatureError("The signature does not fit the body and the secret.")
    try:
        age = abs((time.time() if now is None else now) - float(timestamp))
    except ValueError:
        age = float("nan")
    if not age <= tolerance_seconds:
        raise WebhookSignatureError("The delivery is too old, or the clock is wrong.")
    value = json.loads(raw)
    return value if isinstance(value, list) else [value]


def _key_bytes(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret[len(PREFIX) :], validate=True) if secret.startswith(PREFIX) else b""
    except binascii.Error:
        key = b""
    if not key:
        raise ValueError("The secret is whsec_ and base64.")
    return key

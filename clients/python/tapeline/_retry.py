"""Whether a request is sent again, and after what delay."""

from __future__ import annotations

import random
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from ._errors import ApiError

BASE_SECONDS = 0.25
MAX_BACKOFF_SECONDS = 10.0
# If the service asks for a longer wait, the caller decides whether to try again.
MAX_RETRY_AFTER_SECONDS = 65.0

# The service refused the request before doing anything.
NOTHING_DONE = (429, 503)
# The request may have been carried out: it is repeated only if that is safe.
IN_DOUBT = (408, 500, 502, 504)
# A request with the same Idempotency-Key is still in progress; a later attempt gets its answer.
IN_PROGRESS = 409
# Reasons of refusals that another attempt would meet again, although their status is that of a temporary one.
PERMANENT = ("batch_above_rate", "idempotency_quota", "reply_quota", "reply_too_large")


def is_repeatable(method: str) -> bool:
    """
    A POST that changes something carries an Idempotency-Key, so the service carries it out once; a PATCH sets the same
    values again.
    """
    return method != "DELETE"


def should_retry(method: str, error: ApiError) -> bool:
    status = error.status
    if error.details.get("reason") in PERMANENT:
        return False
    if status in NOTHING_DONE:
        return True
    if status == IN_PROGRESS:
        return method == "POST"
    return status in IN_DOUBT and is_repeatable(method)


def delay(attempt: int, retry_after: Optional[float]) -> Optional[float]:
    """None if the wait would be too long. The random part keeps clients from retrying at the same moment."""
    if retry_after is None:
        return min(MAX_BACKOFF_SECONDS, BASE_SECONDS * 2**attempt) * (0.5 + random.random() / 2)
    if retry_after > MAX_RETRY_AFTER_SECONDS:
        return None
    return retry_after + random.random() * BASE_SECONDS


def read_retry_after(value: Optional[str]) -> Optional[float]:
    """In seconds; the header has either seconds or a date."""
    if value is None or value.strip() == "":
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(timezone.utc)).total_seconds())
    except (TypeError, ValueError):
        return None

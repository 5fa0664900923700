from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple, Type, Union


class TapelineError(Exception):
    """Base class of all errors of this client; a wrong argument is a ``ValueError`` or ``TypeError``."""

    def __reduce__(self) -> Any:
        """Makes errors picklable, because process pools send them to each other."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: Type[TapelineError], args: Tuple[Any, ...], state: Dict[str, Any]) -> TapelineError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class ApiError(TapelineError):
    """The service refused the request. There is a subclass for every code; ``code`` distinguishes them as well."""

    code = "unknown"

    def __init__(self, status: int, details: Mapping[str, Any], retry_after: Optional[float] = None) -> None:
        super().__init__(details.get("message") or f"The service answered with status {status}.")
        self.status = status
        # The whole body: ``param``, ``allowed``, ``required_tier``, ``errors`` …, depending on the code.
        self.details: Dict[str, Any] = dict(details)
        self.code = str(details.get("error") or self.code)
        self.request_id = str(details.get("request_id") or "")
        self.retry_after = retry_after

    def __str__(self) -> str:
        """Includes the request id, by which the service's operator can find the request."""
        asked = f", request {self.request_id}" if self.request_id else ""
        return f"{super().__str__()} ({self.code}{asked})"


class ConnectionLost(TapelineError):
    """No answer arrived, so it is unknown whether the service carried out the request."""

    def __init__(self, message: str, lost_attempts: int) -> None:
        super().__init__(message)
        # Attempts that got no answer.
        self.lost_attempts = lost_attempts


class UnreadableAnswerError(TapelineError):
    """
    The answer was a success but is not JSON: something other than the service answered, or it was damaged on its way.
    """

    def __init__(self, message: str, status: int, request_id: str) -> None:
        super().__init__(message)
        self.status = status
        self.request_id = request_id


class CreditLimitError(TapelineError):
    """The next page would cost more than ``max_credits`` leaves."""

    def __init__(self, rows: List[Any], credits_used: int, next_page_credits: int, next_cursor: Optional[str]) -> None:
        super().__init__(f"The next page costs {next_page_credits} credits; {credits_used} are spent.")
        # What was read so far, and where to continue.
        self.rows = rows
        self.credits_used = credits_used
        self.next_page_credits = next_page_credits
        self.next_cursor = next_cursor


class StreamError(TapelineError):
    """The service closed the stream permanently, or refused the subscription."""

    def __init__(self, code: Union[int, str], message: str) -> None:
        super().__init__(message)
        self.code = code


class StreamGapError(TapelineError):
    """Events are missing, and no ``on_gap`` was given. Pass ``gap["up_to_seq"]`` as ``resume_after`` to continue."""

    def __init__(self, gap: Mapping[str, Any]) -> None:
        super().__init__(f"Events {gap['after_seq'] + 1} to {gap['up_to_seq']} are missing ({gap['reason']}).")
        self.gap = dict(gap)


class WebhookSignatureError(TapelineError):
    """A delivery that was not signed with the secret, was changed, or is too old."""

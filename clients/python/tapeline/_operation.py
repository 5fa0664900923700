from __future__ import annotations

from typing import NamedTuple, Optional, Tuple


class Operation(NamedTuple):
    """What an operation is on the wire, and which columns its rows have."""

    method: str
    path: str
    rows_field: Optional[str] = None
    cursor_param: Optional[str] = None
    has_limit: bool = False
    times: Tuple[str, ...] = ()
    floats: Tuple[str, ...] = ()
    integers: Tuple[str, ...] = ()
    # What is given as a time.
    given_times: Tuple[str, ...] = ()

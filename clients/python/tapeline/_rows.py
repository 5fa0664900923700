from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, Iterator, List, Mapping, Optional, Tuple, TypeVar

from . import _frames
from ._errors import ConnectionLost, CreditLimitError
from ._operation import Operation
from ._transport import Answer

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ._generated import DryRun

Row = TypeVar("Row")
Meta = TypeVar("Meta")
Call = Callable[[Mapping[str, Any], Optional[int]], Answer]


class Page(Generic[Row, Meta]):
    """One answer: ``rows``, ``meta`` with coverage and gaps, ``next_cursor``, and what it cost (``credits``)."""

    def __init__(self, operation: Operation, answer: Answer, decimals: bool = False) -> None:
        body = answer.parsed(parse_float=Decimal) if decimals else answer.parsed()
        self.rows: List[Row] = body[operation.rows_field]
        # Information about the rows: coverage with its gaps, clamping, ignored parameters …
        self.meta: Meta = body.get("meta", body)
        # None on the last page.
        self.next_cursor: Optional[str] = body.get("meta", body).get("next_cursor")
        self.credits = answer.info.credits
        # Whether the page was unchanged or sealed, and therefore free.
        self.from_cache = answer.info.from_cache

    def __repr__(self) -> str:
        more = "the last one" if self.next_cursor is None else "more follow"
        return f"<Page of {len(self.rows)} rows for {self.credits} credits, {more}>"


class Rows(Generic[Row, Meta]):
    """
    Rows of a list. Iteration reads page after page and keeps none of them; ``rows()``, ``to_df()``, ``to_polars()``,
    ``to_arrow()`` and ``gaps`` read everything once and keep it.
    """

    def __init__(self, operation: Operation, params: Mapping[str, Any], call: Call) -> None:
        self._operation = operation
        self._params = params
        self._call = call
        self._answers: Optional[List[Answer]] = None

    def __repr__(self) -> str:
        given = "".join(f" {name}={value!r}" for name, value in self._params.items() if value is not None)
        read = "nothing read yet" if self._answers is None else "read"
        return f"<Rows of {self._operation.path}{given}: {read}>"

    def page(self, cursor: Optional[str] = None) -> Page[Row, Meta]:
        """One page: the first one, or the one after a cursor."""
        return Page(self._operation, self._answer(cursor))

    def pages(self, max_credits: Optional[int] = None) -> Iterator[Page[Row, Meta]]:
        """
        Reads page by page, on demand; if everything was read and kept before, nothing is read again. With
        ``max_credits`` the price of each page is requested first, and a page that would exceed the limit raises a
        ``CreditLimitError``, which says where to continue. An answer that was lost on its way counts as paid.
        """
        for answer in self._read(max_credits) if self._answers is None else self._answers:
            yield Page(self._operation, answer)

    def __iter__(self) -> Iterator[Row]:
        for page in self.pages():
            yield from page.rows

    def cost(self, cursor: Optional[str] = None) -> DryRun:
        """What one page costs; takes no credits."""
        return self._answer(cursor, {"dry_run": True}).parsed()

    def rows(self, max_credits: Optional[int] = None) -> List[Row]:
        """
        All rows. The ``CreditLimitError`` of ``max_credits`` (see ``pages``) contains the rows read so far.
        """
        return [row for rows in self._parsed(max_credits) for row in rows]

    def to_df(self, numbers: str = "float", max_credits: Optional[int] = None) -> pandas.DataFrame:
        """A pandas DataFrame with a UTC index; prices as ``float``, or exactly with ``numbers="decimal"``."""
        decimals = _frames.is_decimal(numbers)
        return _frames.to_pandas(self._parsed(max_credits, decimals), self._operation, decimals)

    def to_polars(self, max_credits: Optional[int] = None) -> polars.DataFrame:
        """A polars DataFrame; times in UTC, prices as floats."""
        return _frames.to_polars(self._parsed(max_credits), self._operation)

    def to_arrow(self, max_credits: Optional[int] = None) -> pyarrow.Table:
        """A pyarrow Table; times in UTC, prices as floats."""
        return _frames.to_arrow(self._parsed(max_credits), self._operation)

    @property
    def gaps(self) -> List[Dict[str, Any]]:
        """What was not recorded in the range, with the reason; a gap that two pages share is listed once."""
        found: List[Dict[str, Any]] = []
        for answer in self._load(None):
            body = answer.parsed()
            coverage = body.get("meta", body).get("coverage") or {}
            found.extend(gap for gap in coverage.get("gaps", ()) if gap not in found)
        return merged(found)

    def _answer(
        self, cursor: Optional[str], more: Optional[Mapping[str, Any]] = None, max_lost: Optional[int] = None
    ) -> Answer:
        at = {self._operation.cursor_param: cursor} if cursor is not None and self._operation.cursor_param else {}
        return self._call({**self._params, **at, **(more or {})}, max_lost)

    def _load(self, max_credits: Optional[int]) -> List[Answer]:
        if self._answers is None:
            self._answers = self._download(max_credits)
        return self._answers

    def _parsed(self, max_credits: Optional[int], decimals: bool = False) -> Iterator[List[Row]]:
        for answer in self._load(max_credits):
            yield Page[Row, Meta](self._operation, answer, decimals).rows

    def _download(self, max_credits: Optional[int]) -> List[Answer]:
        answers: List[Answer] = []
        try:
            answers.extend(self._read(max_credits))
        except CreditLimitError as error:
            error.rows = [row for each in answers for row in Page[Row, Meta](self._operation, each).rows]
            raise
        return answers

    def _read(self, max_credits: Optional[int]) -> Iterator[Answer]:
        used = 0
        cursor: Optional[str] = None

        def refusal(price: int, lost: int) -> CreditLimitError:
            return CreditLimitError([], used + lost, price, cursor)

        while True:
            if max_credits is None:
                answer, price = self._answer(cursor), 0
            else:
                answer, price = self._answer_within(cursor, max_credits - used, refusal)
            yield answer
            used += answer.info.credits + answer.info.lost_attempts * price
            cursor = next_cursor_of(answer)
            if cursor is None:
                return

    def _answer_within(
        self, cursor: Optional[str], left: int, refusal: Callable[[int, int], CreditLimitError]
    ) -> Tuple[Answer, int]:
        preview = self.cost(cursor)
        price = preview["credits"]
        if price > left:
            raise refusal(price, 0)
        # Keeps rows that arrive between the two requests from raising the price of the page.
        more = {"limit": preview["rows"]} if self._operation.has_limit and preview["rows"] > 0 else {}
        # Does not retry if the lost answers and another attempt together could cost more than is left.
        max_lost = left // price - 1 if price > 0 else None
        try:
            return self._answer(cursor, more, max_lost), price
        except ConnectionLost as error:
            if max_lost is not None and error.lost_attempts > max_lost:
                raise refusal(price, error.lost_attempts * price) from error
            raise


def next_cursor_of(answer: Answer) -> Optional[str]:
    """Finds the cursor, which comes after the rows, without parsing the page: that happens when its rows are needed."""
    body = answer.body
    at = body.rfind(b'"next_cursor":')
    if at == -1:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(body[at + len(b'"next_cursor":') :].decode().lstrip())
    except ValueError as error:
        raise answer.unreadable(error) from error
    return value


def merged(gaps: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """Joins the pieces of a gap: each page lists only the gaps of its own part of the range."""
    whole: List[Dict[str, Any]] = []
    last: Dict[Any, Dict[str, Any]] = {}
    for gap in sorted(gaps, key=lambda each: (each["from"], each["to"])):
        before = last.get((gap["source"], gap["reason"]))
        if before is not None and gap["from"] <= before["to"]:
            before["to"] = max(before["to"], gap["to"])
            continue
        piece = dict(gap)
        whole.append(piece)
        last[(gap["source"], gap["reason"])] = piece
    return whole

from __future__ import annotations

from typing import TYPE_CHECKING, Any, AsyncIterator, Awaitable, Dict, Generic, List, Optional

from ._in_thread import in_thread
from ._rows import Meta, Page, Row, Rows

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ._generated import DryRun


class AsyncRows(Generic[Row, Meta]):
    """``Rows`` whose requests are awaited; each runs in a thread."""

    def __init__(self, rows: Rows[Row, Meta]) -> None:
        self._rows = rows

    def __repr__(self) -> str:
        return repr(self._rows).replace("<Rows", "<AsyncRows", 1)

    async def page(self, cursor: Optional[str] = None) -> Page[Row, Meta]:
        """One page: the first one, or the one after a cursor."""
        return await in_thread(self._rows.page, cursor)

    async def pages(self, max_credits: Optional[int] = None) -> AsyncIterator[Page[Row, Meta]]:
        """Reads page by page, on demand, within ``max_credits`` if given."""
        pages = self._rows.pages(max_credits)
        while (page := await in_thread(next, pages, None)) is not None:
            yield page

    async def __aiter__(self) -> AsyncIterator[Row]:
        async for page in self.pages():
            for row in page.rows:
                yield row

    async def cost(self, cursor: Optional[str] = None) -> DryRun:
        """What one page costs; takes no credits."""
        return await in_thread(self._rows.cost, cursor)

    async def rows(self, max_credits: Optional[int] = None) -> List[Row]:
        return await in_thread(self._rows.rows, max_credits)

    async def to_df(self, numbers: str = "float", max_credits: Optional[int] = None) -> pandas.DataFrame:
        return await in_thread(self._rows.to_df, numbers, max_credits)

    async def to_polars(self, max_credits: Optional[int] = None) -> polars.DataFrame:
        return await in_thread(self._rows.to_polars, max_credits)

    async def to_arrow(self, max_credits: Optional[int] = None) -> pyarrow.Table:
        return await in_thread(self._rows.to_arrow, max_credits)

    @property
    def gaps(self) -> Awaitable[List[Dict[str, Any]]]:
        """Has to be awaited: ``await rows.gaps``."""
        return in_thread(lambda: self._rows.gaps)

"""Rows → columns → data frames. The types of the columns come from the schema, not from the values of a page."""

from __future__ import annotations

from decimal import Decimal
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Sequence

from ._operation import Operation

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

INT64_MAX = 2**63 - 1


def is_decimal(numbers: str) -> bool:
    if numbers not in ("float", "decimal"):
        raise ValueError('numbers is "float" or "decimal".')
    return numbers == "decimal"


def columns_of(pages: Iterable[Sequence[Any]]) -> Dict[str, List[Any]]:
    """Works page by page, so that only one page of rows exists at a time: rows take far more memory than columns."""
    columns: Dict[str, List[Any]] = {}
    count = 0
    for rows in pages:
        for name, values in _page_columns(rows).items():
            columns.setdefault(name, [None] * count).extend(values)
        count += len(rows)
        # Pages, and rows of one page, may have different fields if they come from several sources.
        for column in columns.values():
            column.extend([None] * (count - len(column)))
    return columns


def _page_columns(rows: Sequence[Any]) -> Dict[str, Sequence[Any]]:
    names = list(rows[0]) if rows else []
    if len(names) > 1 and set(map(len, rows)) == {len(names)}:
        try:
            values = list(chain.from_iterable(map(itemgetter(*names), rows)))
            return {name: values[at :: len(names)] for at, name in enumerate(names)}
        except KeyError:
            pass  # The same number of fields, but different ones.
    every = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in every}


def names_of(operation: Operation) -> Sequence[str]:
    """The columns of a frame without rows."""
    return (*operation.times, *operation.floats, *operation.integers)


def to_pandas(pages: Iterable[Sequence[Any]], operation: Operation, decimals: bool) -> pandas.DataFrame:
    pd = _need("pandas")
    columns: Dict[str, Any] = columns_of(pages) or {name: [] for name in names_of(operation)}
    for name, values in columns.items():
        if name in operation.times:
            columns[name] = _pandas_times(pd, values)
        elif name in operation.floats:
            columns[name] = (
                pd.Series([_decimal(value) for value in values], dtype=object)
                if decimals
                else pd.Series(values, dtype="float64")
            )
        elif name in operation.integers:
            columns[name] = _pandas_integers(pd, values)
    frame = pd.DataFrame(columns, copy=False)
    return frame.set_index("timestamp") if "timestamp" in columns else frame


def _pandas_times(pd: Any, values: List[Any]) -> Any:
    if int(pd.__version__.split(".")[0]) >= 2:
        return pd.to_datetime(values, utc=True, format="ISO8601")
    return pd.to_datetime(values, utc=True)


def _pandas_integers(pd: Any, values: List[Any]) -> Any:
    if any(value is not None and abs(value) > INT64_MAX for value in values):
        return pd.Series(values, dtype=object)
    return pd.Series(values, dtype="Int64" if None in values else "int64")


def _decimal(value: Any) -> Any:
    return Decimal(value) if isinstance(value, int) else value


def to_polars(pages: Iterable[Sequence[Any]], operation: Operation) -> polars.DataFrame:
    pl = _need("polars")
    columns = columns_of(pages) or {name: [] for name in names_of(operation)}
    series = []
    for name, values in columns.items():
        if name in operation.times:
            text = pl.Series(name, values, dtype=pl.String)
            series.append(text.str.to_datetime(time_unit="ms", time_zone="UTC"))
        elif name in operation.floats:
            series.append(pl.Series(name, values, dtype=pl.Float64, strict=False))
        elif name in operation.integers:
            series.append(pl.Series(name, values, dtype=pl.Int64))
        else:
            series.append(pl.Series(name, values, strict=False))
    return pl.DataFrame(series)


def to_arrow(pages: Iterable[Sequence[Any]], operation: Operation) -> pyarrow.Table:
    pa = _need("pyarrow")
    columns = columns_of(pages) or {name: [] for name in names_of(operation)}
    arrays = {}
    for name, values in columns.items():
        if name in operation.times:
            arrays[name] = pa.array(_instants(values), type=pa.timestamp("ms", tz="UTC"))
        elif name in operation.floats:
            arrays[name] = pa.array(values, type=pa.float64())
        elif name in operation.integers:
            arrays[name] = pa.array(values, type=pa.int64())
        else:
            arrays[name] = pa.array(values)
    return pa.table(arrays)


def _instants(values: Sequence[Any]) -> List[Any]:
    from datetime import datetime

    return [None if value is None else datetime.fromisoformat(value.replace("Z", "+00:00")) for value in values]


def _need(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError as error:
        raise ImportError(f"This needs {name}: pip install {name}") from error

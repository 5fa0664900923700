# Generated from the endpoint declarations by `npm run clients`. Do not edit.
from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Dict, List, Literal, Mapping, Optional, Sequence, Type, TypedDict, Union

from ._errors import ApiError
from ._operation import Operation

if TYPE_CHECKING:
    from typing_extensions import NotRequired

    from ._async_rows import AsyncRows
    from ._rows import Rows

CONTRACT_VERSION = "1.6.0"

# ISO 8601 text, a date alone (midnight UTC), epoch seconds or milliseconds, or a datetime.
Time = Union[str, int, float, datetime]


class ErrorBody(TypedDict):
    # Stable code.
    error: Literal["invalid_symbol", "invalid_source", "invalid_interval", "invalid_side", "invalid_time_range", "unauthorized", "credits_exhausted", "plan_required", "tier_restricted", "not_found", "market_not_found", "transaction_not_found", "method_not_allowed", "idempotency_conflict", "payload_too_large", "unsupported_media_type", "invalid_param", "transaction_rejected", "upgrade_required", "rate_limited", "rate_limit_exceeded", "internal_error", "data_not_available", "upstream_error", "upstream_unavailable", "environment_unavailable", "upstream_timeout"]
    # Sentence for a person.
    message: str
    # The value of X-Request-Id.
    request_id: str
    # The parameter at fault.
    param: NotRequired[str]
    # The allowed values.
    allowed: NotRequired[List[Any]]
    # Lowest tier that may do this.
    required_tier: NotRequired[str]
    # Where the plan can be changed.
    upgrade_url: NotRequired[str]
    # Seconds to wait.
    retry_after: NotRequired[int]
    # The most calls that a batch may have on this plan.
    max_batch: NotRequired[int]
    # The largest body that the plan may send here.
    max_bytes: NotRequired[int]
    # True when checking stopped at the most faults that are listed: there may be more.
    checking_stopped: NotRequired[bool]
    # Which of several causes it was.
    reason: NotRequired[str]
    # When the credits are renewed.
    resets_at: NotRequired[str]
    # The known name nearest to the one that was given.
    suggestion: NotRequired[str]
    # The transaction that the node refused.
    tx_id: NotRequired[str]
    # The transaction that it conflicts with.
    other_tx_id: NotRequired[str]
    # The transaction whose output is spent already.
    spent_tx_id: NotRequired[str]
    # Which of its outputs.
    spent_index: NotRequired[int]
    # The fee that was offered.
    fee_sompi: NotRequired[int]
    # The fee that the node wants.
    required_fee_sompi: NotRequired[int]
    # Which mass is too large or decides the fee.
    mass_kind: NotRequired[str]
    # That mass.
    mass: NotRequired[int]
    # The largest mass that the node takes.
    mass_limit: NotRequired[int]
    # What is recorded, where a range was asked for that is not.
    available_range: NotRequired[Optional[ErrorBodyAvailableRange]]
    # Earliest start that the plan allows.
    earliest_start: NotRequired[str]
    # Every fault, where several parameters are wrong.
    errors: NotRequired[List[ErrorBodyError]]

# What is recorded, where a range was asked for that is not.
ErrorBodyAvailableRange = TypedDict(
    "ErrorBodyAvailableRange",
    {
        "from": "NotRequired[str]",
        "to": "NotRequired[str]",
    },
)


class ErrorBodyError(TypedDict):
    # The parameter at fault.
    param: str
    # Its code.
    error: str
    # Sentence for a person.
    message: str
    # Which of several causes it was.
    reason: NotRequired[str]
    # The known name nearest to the one that was given.
    suggestion: NotRequired[str]
    # The allowed values.
    allowed: NotRequired[List[Any]]


class Problem(TypedDict):
    # Address that names the kind of error.
    type: str
    # What it means, in one line.
    title: str
    # Status of the answer.
    status: int
    # Sentence for a person.
    detail: str
    # Stable code.
    code: Literal["invalid_symbol", "invalid_source", "invalid_interval", "invalid_side", "invalid_time_range", "unauthorized", "credits_exhausted", "plan_required", "tier_restricted", "not_found", "market_not_found", "transaction_not_found", "method_not_allowed", "idempotency_conflict", "payload_too_large", "unsupported_media_type", "invalid_param", "transaction_rejected", "upgrade_required", "rate_limited", "rate_limit_exceeded", "internal_error", "data_not_available", "upstream_error", "upstream_unavailable", "environment_unavailable", "upstream_timeout"]
    # The value of X-Request-Id.
    request_id: str
    # The parameter at fault.
    param: NotRequired[str]
    # The allowed values.
    allowed: NotRequired[List[Any]]
    # Lowest tier that may do this.
    required_tier: NotRequired[str]
    # Where the plan can be changed.
    upgrade_url: NotRequired[str]
    # Seconds to wait.
    retry_after: NotRequired[int]
    # The most calls that a batch may have on this plan.
    max_batch: NotRequired[int]
    # The largest body that the plan may send here.
    max_bytes: NotRequired[int]
    # True when checking stopped at the most faults that are listed: there may be more.
    checking_stopped: NotRequired[bool]
    # Which of several causes it was.
    reason: NotRequired[str]
    # When the credits are renewed.
    resets_at: NotRequired[str]
    # The known name nearest to the one that was given.
    suggestion: NotRequired[str]
    # The transaction that the node refused.
    tx_id: NotRequired[str]
    # The transaction that it conflicts with.
    other_tx_id: NotRequired[str]
    # The transaction whose output is spent already.
    spent_tx_id: NotRequired[str]
    # Which of its outputs.
    spent_index: NotRequired[int]
    # The fee that was offered.
    fee_sompi: NotRequired[int]
    # The fee that the node wants.
    required_fee_sompi: NotRequired[int]
    # Which mass is too large or decides the fee.
    mass_kind: NotRequired[str]
    # That mass.
    mass: NotRequired[int]
    # The largest mass that the node takes.
    mass_limit: NotRequired[int]
    # What is recorded, where a range was asked for that is not.
    available_range: NotRequired[Optional[ErrorBodyAvailableRange]]
    # Earliest start that the plan allows.
    earliest_start: NotRequired[str]
    # Every fault, where several parameters are wrong.
    errors: NotRequired[List[ErrorBodyError]]


class ListMeta(TypedDict):
    # Echo of the request.
    symbol: Optional[str]
    # Echo of the request.
    source: Optional[str]
    # Echo of the request.
    interval: Optional[str]
    # Rows of this page.
    count: int
    # The same as count.
    returned: int
    # Whether there is another page.
    has_more: bool
    # Pass it as `after` to get the next page.
    next_cursor: Optional[str]
    # True when the start was moved; null otherwise.
    clamped: Optional[bool]
    # Why it was moved.
    clamped_reason: Optional[Literal["plan_history", "before_earliest_data"]]
    # The start that was asked for.
    original_start: Optional[str]
    # The start that was served.
    effective_start: Optional[str]
    # Parameters that have no meaning for the asked source.
    ignored: List[str]
    # Explains the row shape of an unfiltered request.
    predmkt_a_note: NotRequired[str]
    # The venue publishes a sample only.
    sampled: NotRequired[bool]
    # What was observed of the range of this page.
    coverage: Optional[ListMetaCoverage]

# What was observed of the range of this page.
ListMetaCoverage = TypedDict(
    "ListMetaCoverage",
    {
        "from": "Optional[str]",
        "to": "Optional[str]",
        "complete": "bool",
        "gaps": "List[ListMetaCoverageGap]",
    },
)

ListMetaCoverageGap = TypedDict(
    "ListMetaCoverageGap",
    {
        "source": "str",
        "from": "str",
        "to": "str",
        "reason": "Literal[\"not_observed\", \"venue_down\", \"before_start\", \"not_provided\"]",
    },
)


class DryRun(TypedDict):
    """Preview of the price, with `dry_run=true`."""

    # Always true.
    dry_run: Literal[True]
    # Rows that the page would have.
    rows: int
    # What it would cost.
    credits: int
    # Credits that are left; none were taken.
    credits_remaining: int
    # Whether the start would be moved.
    clamped: bool
    # Rows that the credits pay for; null where rows cost nothing of their own.
    rows_affordable: Optional[int]
    # Whether the plan or the credits would cut the page shorter than asked.
    would_be_capped: bool


class Sources(TypedDict):
    # The sources.
    data: List[SourcesData]
    # The count; everything else is null.
    meta: SourcesMeta


class SourcesData(TypedDict):
    # Source identifier.
    source: str
    # Name for people.
    display_name: str
    # The same as display_name.
    label: str
    # Supported symbols.
    symbols: List[str]
    # Supported candle intervals.
    intervals: List[str]
    # Which tier each candle interval needs.
    tier_requirements: List[SourcesDataTierRequirement]
    # Endpoints that serve this source.
    endpoints: List[SourcesDataEndpoint]


class SourcesDataTierRequirement(TypedDict):
    # Candle interval.
    interval: str
    # Lowest tier that may read it; null where no plan does.
    min_tier: Optional[Literal["free", "pro", "business"]]


class SourcesDataEndpoint(TypedDict):
    # Path, with the `source` query where it takes one.
    path: str
    # Always GET.
    method: Literal["GET"]
    # What it answers.
    description: str
    # Lowest tier that may call it.
    min_tier: Literal["free", "pro", "business"]
    # What it costs.
    credits: str


class SourcesMeta(TypedDict):
    """The count; everything else is null."""

    # Always null.
    symbol: None
    # Always null.
    source: None
    # Always null.
    interval: None
    # Number of sources.
    count: int
    # Always null.
    next_cursor: None


class Symbols(TypedDict):
    # The symbols.
    symbols: List[SymbolsSymbol]


class SymbolsSymbol(TypedDict):
    # Ticker in upper case.
    symbol: str
    # Name of the asset.
    name: str
    # Sources that cover it.
    sources: List[str]
    # Candle intervals, over all sources.
    intervals: List[str]
    # Time of the earliest data point; null before the first one is recorded.
    earliest_data: Optional[str]


class Candle(TypedDict):
    # Open time of the bar.
    timestamp: str
    # Asset symbol.
    symbol: Literal["BTC", "ETH", "SOL", "XRP"]
    # Where the row was recorded.
    source: Literal["cexa", "cexa_futures", "perpdex", "predmkt_a", "predmkt_b", "oracle", "cexa_spot"]
    # Length of the bar, as asked.
    interval: str
    # First price; a probability for prediction markets.
    open: float
    # Highest price.
    high: float
    # Lowest price.
    low: float
    # Last price; a probability in 0 to 1 for prediction markets.
    close: float
    # Traded volume: base asset, dollar-pegged stablecoin (`predmkt_a`) or contracts (`predmkt_b`); null for `oracle`.
    volume: Optional[float]
    # Number of trades; `cexa` and `cexa_futures` only.
    num_trades: Optional[int]
    # Share of the volume bought by takers; `cexa_futures` only.
    taker_buy_ratio: Optional[float]
    # Last settled funding rate at the close; `cexa_futures` and `perpdex` only.
    funding_rate: Optional[float]
    # Last observed open interest at the close, base asset; `cexa_futures` and `perpdex` only.
    open_interest: Optional[float]
    # False while the bar is still open.
    closed: bool
    # Prediction markets: condition id (`predmkt_a`) or ticker (`predmkt_b`).
    market_id: NotRequired[str]
    # Prediction markets: slug of the market.
    market_slug: NotRequired[Optional[str]]
    # Prediction markets: order-book token of the leg.
    token_id: NotRequired[Optional[str]]
    # Prediction markets: outcome that the price is the probability of.
    outcome: NotRequired[Optional[str]]
    # Prediction markets: question of the market.
    question: NotRequired[Optional[str]]

Snapshot = Union["SnapshotPredmktA", "SnapshotPredmktB", "SnapshotPerpdex", "SnapshotCexa"]


class SnapshotPredmktA(TypedDict):
    # Time of the sample.
    timestamp: str
    # Asset symbol.
    symbol: Literal["BTC", "ETH", "SOL", "XRP"]
    # Where the row was recorded.
    source: Literal["predmkt_a"]
    # Sampling step, as asked; `500ms` when every stored sample is served.
    interval: str
    # Condition id (`predmkt_a`) or ticker (`predmkt_b`); null for `perpdex`.
    market_id: Optional[str]
    # Highest bid; null without bids.
    best_bid: Optional[float]
    # Lowest ask; null without asks.
    best_ask: Optional[float]
    # Middle of best bid and best ask; null unless both exist.
    mid_price: Optional[float]
    # best_ask minus best_bid; null unless both exist.
    spread: Optional[float]
    # Share of the bids in the size of the levels that the row lists, 6 decimals; without books: of the ten best levels (`predmkt_a`), of all levels (`predmkt_b`). Null for an empty book.
    imbalance: Optional[float]
    # Slug of the market.
    market_slug: Optional[str]
    # Question of the market.
    question: Optional[str]
    # Duration of the contract.
    market_type: Optional[str]
    # Order-book token of the Up leg.
    token_up: str
    # Order-book token of the Down leg.
    token_down: str
    # Probability of Up.
    price_up: Optional[float]
    # Probability of Down.
    price_down: Optional[float]
    # Price of the asset that the market settles on, at the sample.
    reference_price: Optional[float]
    # Book of the Up token, with `include_orderbook`.
    orderbook_up: NotRequired[SnapshotPredmktAOrderbookUp]
    # Book of the Down token, with `include_orderbook`.
    orderbook_down: NotRequired[SnapshotPredmktAOrderbookUp]
    # Change of the Up book since the row before, with `include_diffs`; null for the first.
    diffs: NotRequired[Optional[SnapshotPredmktADiffs]]


class SnapshotPredmktAOrderbookUp(TypedDict):
    """Book of the Up token, with `include_orderbook`."""

    # Bids, highest price first.
    bids: List[List[float]]
    # Asks, lowest price first.
    asks: List[List[float]]


class SnapshotPredmktADiffs(TypedDict):
    # Bid levels that are new or have a new size.
    bids_added: List[List[float]]
    # Bid levels that are gone or had another size.
    bids_removed: List[List[float]]
    # Ask levels that are new or have a new size.
    asks_added: List[List[float]]
    # Ask levels that are gone or had another size.
    asks_removed: List[List[float]]


class SnapshotPredmktB(TypedDict):
    # Time of the sample.
    timestamp: str
    # Asset symbol.
    symbol: Literal["BTC", "ETH", "SOL", "XRP"]
    # Where the row was recorded.
    source: Literal["predmkt_b"]
    # Sampling step, as asked; `500ms` when every stored sample is served.
    interval: str
    # Condition id (`predmkt_a`) or ticker (`predmkt_b`); null for `perpdex`.
    market_id: Optional[str]
    # Highest bid; null without bids.
    best_bid: Optional[float]
    # Lowest ask; null without asks.
    best_ask: Optional[float]
    # Middle of best bid and best ask; null unless both exist.
    mid_price: Optional[float]
    # best_ask minus best_bid; null unless both exist.
    spread: Optional[float]
    # Share of the bids in the size of the levels that the row lists, 6 decimals; without books: of the ten best levels (`predmkt_a`), of all levels (`predmkt_b`). Null for an empty book.
    imbalance: Optional[float]
    # Highest bid for Yes.
    yes_bid: Optional[float]
    # Lowest ask for Yes.
    yes_ask: Optional[float]
    # Highest bid for No.
    no_bid: Optional[float]
    # Lowest ask for No.
    no_ask: Optional[float]
    # Price of the last trade.
    last_price: Optional[float]
    # Contracts traded so far.
    volume: Optional[float]
    # Open contracts.
    open_interest: Optional[float]
    # Book of Yes, with `include_orderbook`.
    orderbook_yes: NotRequired[SnapshotPredmktAOrderbookUp]
    # Book of No, with `include_orderbook`.
    orderbook_no: NotRequired[SnapshotPredmktAOrderbookUp]
    # Change of the Yes book since the row before, with `include_diffs`; null for the first.
    diffs: NotRequired[Optional[SnapshotPredmktADiffs]]


class SnapshotPerpdex(TypedDict):
    # Time of the sample.
    timestamp: str
    # Asset symbol.
    symbol: Literal["BTC", "ETH", "SOL", "XRP"]
    # Where the row was recorded.
    source: Literal["perpdex"]
    # Sampling step, as asked; `500ms` when every stored sample is served.
    interval: str
    # Condition id (`predmkt_a`) or ticker (`predmkt_b`); null for `perpdex`.
    market_id: Optional[str]
    # Highest bid; null without bids.
    best_bid: Optional[float]
    # Lowest ask; null without asks.
    best_ask: Optional[float]
    # Middle of best bid and best ask; null unless both exist.
    mid_price: Optional[float]
    # best_ask minus best_bid; null unless both exist.
    spread: Optional[float]
    # Share of the bids in the size of the levels that the row lists, 6 decimals; without books: of the ten best levels (`predmkt_a`), of all levels (`predmkt_b`). Null for an empty book.
    imbalance: Optional[float]
    # Bids, highest price first; 20 levels.
    bids: List[List[float]]
    # Asks, lowest price first; 20 levels.
    asks: List[List[float]]


class SnapshotCexa(TypedDict):
    # Time of the sample.
    timestamp: str
    # Asset symbol.
    symbol: Literal["BTC", "ETH", "SOL", "XRP"]
    # Where the row was recorded.
    source: Literal["cexa"]
    # Sampling step, as asked; `500ms` when every stored sample is served.
    interval: str
    # Condition id (`predmkt_a`) or ticker (`predmkt_b`); null for `perpdex`.
    market_id: Optional[str]
    # Highest bid; null without bids.
    best_bid: Optional[float]
    # Lowest ask; null without asks.
    best_ask: Optional[float]
    # Middle of best bid and best ask; null unless both exist.
    mid_price: Optional[float]
    # best_ask minus best_bid; null unless both exist.
    spread: Optional[float]
    # Share of the bids in the size of the levels that the row lists, 6 decimals; without books: of the ten best levels (`predmkt_a`), of all levels (`predmkt_b`). Null for an empty book.
    imbalance: Optional[float]


class SnapshotAt(TypedDict):
    # The snapshot; null when there is none.
    data: Optional[Snapshot]
    # Echo of the request and what is known about the answer.
    meta: SnapshotAtMeta


class SnapshotAtMeta(TypedDict):
    """Echo of the request and what is known about the answer."""

    # Echo of the request.
    symbol: Optional[str]
    # Echo of the request.
    source: Optional[str]
    # Duration of the contract, as asked; null where it was not.
    interval: Optional[str]
    # The instant that was asked for; left out: that of the answer.
    time: str
    # 1, or 0 when there is no snapshot.
    count: int
    # The same as count.
    returned: int
    # Always false.
    has_more: Literal[False]
    # Always null.
    next_cursor: None
    # Always null: the time is never moved.
    clamped: None
    # Always null.
    clamped_reason: None
    # Always null.
    original_start: None
    # Always null.
    effective_start: None
    # Parameters without a meaning for the source, and `interval` beside `market_id`.
    ignored: List[str]
    # What was observed from the snapshot (or from where one could be) to the time.
    coverage: Optional[ListMetaCoverage]
    # Why `data` is null. no_market: no market is known that runs at the time. not_recorded: nothing was recorded at or before it. plan_history: only before the window of the plan. Null with a snapshot.
    reason: Optional[Literal["no_market", "not_recorded", "plan_history"]]


class Trade(TypedDict):
    # Time of the trade.
    timestamp: str
    # Asset symbol.
    symbol: Literal["BTC", "ETH", "SOL", "XRP"]
    # Where the row was recorded.
    source: Literal["cexa", "cexa_futures", "perpdex", "predmkt_a", "predmkt_b", "oracle", "cexa_spot"]
    # The venue's identifier of the trade.
    trade_id: str
    # Price; a probability in 0 to 1 for prediction markets.
    price: float
    # Size: base asset, shares (`predmkt_a`) or contracts (`predmkt_b`).
    size: float
    # Side of the aggressor.
    side: Literal["buy", "sell"]
    # Role of the reported party; null unless known.
    maker_taker: Optional[Literal["maker", "taker"]]
    # Prediction markets: condition id or ticker; null elsewhere.
    market_id: Optional[str]
    # `predmkt_a`: order-book token that was traded; null elsewhere.
    token_id: Optional[str]
    # Prediction markets: outcome that was traded; null elsewhere.
    outcome: Optional[str]


class Flow(TypedDict):
    # Start of the bucket.
    timestamp: str
    # Asset symbol.
    symbol: Literal["BTC", "ETH", "SOL", "XRP"]
    # Where the row was recorded.
    source: Literal["cexa", "cexa_futures", "perpdex", "predmkt_a", "predmkt_b", "oracle", "cexa_spot"]
    # Length of the bucket, as asked.
    interval: str
    # Base volume of trades whose aggressor bought.
    buy_volume: float
    # Base volume of trades whose aggressor sold.
    sell_volume: float
    # Number of buys; null in buckets rebuilt without aggregate trades.
    num_buys: Optional[int]
    # Number of sells; null in buckets rebuilt without aggregate trades.
    num_sells: Optional[int]
    # Volume-weighted price of the buys; null without buys.
    vwap_buy: Optional[float]
    # Volume-weighted price of the sells; null without sells.
    vwap_sell: Optional[float]
    # buy_volume minus sell_volume.
    net_volume: float
    # buy_volume over the whole volume, 6 decimals; null without volume.
    buy_ratio: Optional[float]


class OpenInterest(TypedDict):
    # Time of the observation.
    timestamp: str
    # Asset symbol.
    symbol: Literal["BTC", "ETH", "SOL", "XRP"]
    # Where the row was recorded.
    source: Literal["cexa", "cexa_futures", "perpdex", "predmkt_a", "predmkt_b", "oracle", "cexa_spot"]
    # Distance of the observations, as asked.
    interval: str
    # Open interest: base asset, or open contracts (`predmkt_b`).
    open_interest: float
    # Open interest in US dollars at the mark price, or at the maximum payout (`predmkt_b`).
    open_interest_usd: float
    # `predmkt_b`: ticker of the market; absent in the sum over the symbol.
    market_id: NotRequired[str]


class Liquidation(TypedDict):
    # Time of the liquidation.
    timestamp: str
    # Asset symbol.
    symbol: Literal["BTC", "ETH", "SOL", "XRP"]
    # Where the row was recorded.
    source: Literal["cexa", "cexa_futures", "perpdex", "predmkt_a", "predmkt_b", "oracle", "cexa_spot"]
    # The side that was liquidated.
    side: Literal["long", "short"]
    # Quantity, base asset.
    quantity: float
    # Bankruptcy price that triggered it.
    price: float
    # Average fill price.
    avg_price: float
    # quantity times avg_price.
    usd_value: float


class Funding(TypedDict):
    # When the rate was recorded.
    timestamp: str
    # Asset symbol.
    symbol: Literal["BTC", "ETH", "SOL", "XRP"]
    # Where the row was recorded.
    source: Literal["cexa", "cexa_futures", "perpdex", "predmkt_a", "predmkt_b", "oracle", "cexa_spot"]
    # Funding rate; positive means longs pay shorts.
    funding_rate: float
    # Next scheduled settlement.
    next_funding_time: str


class Ticker(TypedDict):
    # Second of the observation.
    timestamp: str
    # Asset symbol.
    symbol: Literal["BTC", "ETH", "SOL", "XRP"]
    # Where the row was recorded.
    source: Literal["cexa", "cexa_futures", "perpdex", "predmkt_a", "predmkt_b", "oracle", "cexa_spot"]
    # Best bid.
    bid_price: float
    # Size at the best bid, base asset.
    bid_size: float
    # Best ask.
    ask_price: float
    # Size at the best ask, base asset.
    ask_size: float


class Market(TypedDict):
    # Identifier of the market: condition id (`predmkt_a`), ticker (`predmkt_b`) or coin (`perpdex`).
    market_id: str
    # Where the row was recorded.
    source: Literal["cexa", "cexa_futures", "perpdex", "predmkt_a", "predmkt_b", "oracle", "cexa_spot"]
    # Asset symbol.
    symbol: Literal["BTC", "ETH", "SOL", "XRP"]
    # Slug of the market.
    slug: Optional[str]
    # Ticker of the market.
    ticker: Optional[str]
    # Condition id of the market.
    condition_id: Optional[str]
    # Identifier of the event that groups markets.
    event_id: Optional[str]
    # The question that the market settles.
    question: Optional[str]
    # Duration of the contract; null for perpetuals.
    market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]]
    # Start of the window that the contract settles on.
    start_time: Optional[str]
    # End of that window.
    end_time: Optional[str]
    # True until the market ends, also before it begins; false once it has ended or is resolved.
    active: bool
    # upcoming before its start, open until its end, closed until its result is known, then resolved.
    status: Literal["upcoming", "open", "closed", "resolved"]
    # Outcome that won; null until resolved.
    winner: Optional[str]
    # When the market was resolved.
    resolved_at: Optional[str]
    # Order-book tokens of the market.
    tokens: List[MarketToken]
    # When the venue created its record; null where it does not say.
    created_at: Optional[str]
    # When the venue last changed it; null where it does not say.
    updated_at: Optional[str]
    # What the venue files it under.
    tags: List[str]
    # Strike price, where the contract has one.
    strike: Optional[float]
    # Price of the asset at start_time.
    reference_price_start: Optional[float]
    # Price of the asset at end_time.
    reference_price_end: Optional[float]
    # Volume so far.
    volume: Optional[float]
    # Liquidity as the venue reports it.
    liquidity: Optional[float]
    # Open interest as the venue reports it.
    open_interest: Optional[float]
    # `predmkt_a`: order-book token of the outcome Up.
    clob_token_up: Optional[str]
    # `predmkt_a`: order-book token of the outcome Down.
    clob_token_down: Optional[str]
    # Volume of a resolved market; null until then.
    final_volume: Optional[float]
    # Liquidity of a resolved market; null until then.
    final_liquidity: Optional[float]


class MarketToken(TypedDict):
    # Order-book token.
    token_id: str
    # Outcome that the token pays for.
    outcome: str


class MarketRecord(TypedDict):
    # Identifier of the market: condition id (`predmkt_a`), ticker (`predmkt_b`) or coin (`perpdex`).
    market_id: str
    # Where the row was recorded.
    source: Literal["cexa", "cexa_futures", "perpdex", "predmkt_a", "predmkt_b", "oracle", "cexa_spot"]
    # Asset symbol.
    symbol: Literal["BTC", "ETH", "SOL", "XRP"]
    # Slug of the market.
    slug: Optional[str]
    # Ticker of the market.
    ticker: Optional[str]
    # Condition id of the market.
    condition_id: Optional[str]
    # Identifier of the event that groups markets.
    event_id: Optional[str]
    # The question that the market settles.
    question: Optional[str]
    # Duration of the contract; null for perpetuals.
    market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]]
    # Start of the window that the contract settles on.
    start_time: Optional[str]
    # End of that window.
    end_time: Optional[str]
    # True until the market ends, also before it begins; false once it has ended or is resolved.
    active: bool
    # upcoming before its start, open until its end, closed until its result is known, then resolved.
    status: Literal["upcoming", "open", "closed", "resolved"]
    # Outcome that won; null until resolved.
    winner: Optional[str]
    # When the market was resolved.
    resolved_at: Optional[str]
    # Order-book tokens of the market.
    tokens: List[MarketToken]
    # When the venue created its record; null where it does not say.
    created_at: Optional[str]
    # When the venue last changed it; null where it does not say.
    updated_at: Optional[str]
    # What the venue files it under.
    tags: List[str]
    # Strike price, where the contract has one.
    strike: Optional[float]
    # Price of the asset at start_time.
    reference_price_start: Optional[float]
    # Price of the asset at end_time.
    reference_price_end: Optional[float]
    # Volume so far.
    volume: Optional[float]
    # Liquidity as the venue reports it.
    liquidity: Optional[float]
    # Open interest as the venue reports it.
    open_interest: Optional[float]
    # `predmkt_a`: order-book token of the outcome Up.
    clob_token_up: Optional[str]
    # `predmkt_a`: order-book token of the outcome Down.
    clob_token_down: Optional[str]
    # Volume of a resolved market; null until then.
    final_volume: Optional[float]
    # Liquidity of a resolved market; null until then.
    final_liquidity: Optional[float]


class ExchangePair(TypedDict):
    # Asset symbol.
    symbol: Literal["BTC", "ETH", "SOL", "XRP"]
    # Name of the asset.
    name: str
    # Where the row was recorded.
    source: Literal["cexa", "cexa_futures", "perpdex", "predmkt_a", "predmkt_b", "oracle", "cexa_spot"]
    # Candle intervals.
    intervals: List[str]
    # Time of the earliest candle; null before the first one is recorded.
    earliest_data: Optional[str]


class SubmitResult(TypedDict):
    # Id of the transaction, computed here.
    tx_id: str
    # Whether the network has it.
    submitted: bool
    # Whether it was seen in a mempool; false for one that had left it by acceptance before.
    mempool_seen: bool
    # Whether the network had accepted it before this call.
    already_accepted: bool
    # Calls to nodes; all looks at the mempool together are one.
    attempts: int
    # Price of this answer. `X-Credits-Charged` is what was charged: less where the balance does not cover it.
    credits_used: int


class SubmitRequest(TypedDict):
    # The signed transaction, in the form that the node takes.
    transaction: SubmitRequestTransaction
    # Take it before its parents are known. Not together with `replace_by_fee`: a replacement is never taken as an orphan.
    allow_orphan: NotRequired[bool]
    # Replace the one transaction in the mempool that it conflicts with.
    replace_by_fee: NotRequired[bool]
    # Answer when the network shows the transaction.
    wait_for_mempool: NotRequired[bool]
    # How long to wait for that.
    wait_timeout_seconds: NotRequired[float]


class SubmitRequestTransaction(TypedDict):
    """The signed transaction, in the form that the node takes."""

    # Transaction version.
    version: int
    # What is spent.
    inputs: List[SubmitRequestTransactionInput]
    # What is created.
    outputs: List[SubmitRequestTransactionOutput]
    # Lock time. A number, or decimal text where a double would lose digits.
    lockTime: Union[int, str]
    # The subnetwork.
    subnetworkId: str
    # Gas of the lane. A number, or decimal text where a double would lose digits.
    gas: Union[int, str]
    # Payload, hex.
    payload: str
    # Storage mass that the transaction commits to. A number, or decimal text where a double would lose digits.
    storageMass: NotRequired[Union[int, str]]
    # The older name of storageMass. A number, or decimal text where a double would lose digits.
    mass: NotRequired[Union[int, str]]


class SubmitRequestTransactionInput(TypedDict):
    previousOutpoint: SubmitRequestTransactionInputPreviousOutpoint
    # The signature script, hex.
    signatureScript: str
    # Sequence number. A number, or decimal text where a double would lose digits.
    sequence: Union[int, str]
    # Signature operations; version 0 only.
    sigOpCount: NotRequired[int]
    # Compute budget; version 1 only.
    computeBudget: NotRequired[int]


class SubmitRequestTransactionInputPreviousOutpoint(TypedDict):
    # Transaction whose output is spent.
    transactionId: str
    # Which of its outputs.
    index: int


class SubmitRequestTransactionOutput(TypedDict):
    # Amount in sompi. A number, or decimal text where a double would lose digits.
    value: Union[int, str]
    # Four hex digits of version and the script; or an object of both.
    scriptPublicKey: Union[str, SubmitRequestTransactionOutputScriptPublicKey]
    # Covenant that the output is bound to; version 1 only.
    covenant: NotRequired[Optional[SubmitRequestTransactionOutputCovenant]]


class SubmitRequestTransactionOutputScriptPublicKey(TypedDict):
    version: int
    script: str


class SubmitRequestTransactionOutputCovenant(TypedDict):
    # Input that authorises it.
    authorizingInput: int
    # The covenant.
    covenantId: str


class TransactionLookup(TypedDict):
    # Transaction id.
    tx_id: str
    # pending, confirmed or dropped.
    status: str
    # The parsed transaction.
    parsed: TransactionLookupParsed
    # index or mempool.
    source: str
    # Time of the block that carries it; null while pending.
    block_time: Optional[str]
    # That block; null while pending.
    block_hash: Optional[str]
    # Chain block that accepted it; null while pending.
    accepting_block_hash: Optional[str]
    # Time of that block.
    accepting_block_time: Optional[str]
    # Blue score since acceptance; 0 while pending.
    confirmations: int
    # Of a dropped transaction: the one that spends the same output, where it is known.
    replaced_by: Optional[str]
    # Fee, where all inputs are known.
    fee_sompi: Optional[int]
    # Credits that this answer cost.
    credits_used: int


class TransactionLookupParsed(TypedDict):
    """The parsed transaction."""

    # Transaction id.
    tx_id: str
    # What is spent.
    inputs: List[TransactionLookupParsedInput]
    # What is created.
    outputs: List[TransactionLookupParsedOutput]
    # coinbase, covenant, covenant_execution, krc20, native_asset, scriptlang.
    tags: List[str]
    # One member for each tag.
    details: Dict[str, Any]


class TransactionLookupParsedInput(TypedDict):
    # Transaction whose output is spent.
    tx_id: str
    # Which of its outputs.
    index: int
    # Whose output it is; null while unknown.
    address: Optional[str]
    # How much; null while unknown.
    amount_sompi: Optional[int]
    # Whether a key of the address is shown to have signed. False: its program demanded none. Null: not shown.
    signed: NotRequired[Optional[bool]]


class TransactionLookupParsedOutput(TypedDict):
    # Place of the output.
    index: int
    # Amount in sompi.
    amount_sompi: int
    # Who receives it; null for a script without an address.
    address: Optional[str]
    # Four hex digits of version, then the script.
    script_public_key: str
    # pubkey, pubkeyecdsa, scripthash or nonstandard.
    script_class: str
    # Covenant of the output; null without one.
    covenant: Optional[TransactionLookupParsedOutputCovenant]


class TransactionLookupParsedOutputCovenant(TypedDict):
    # Covenant id.
    id: str
    # The input that authorises it.
    authorizing_input: int


class AddressTransaction(TypedDict):
    # Transaction id.
    tx_id: str
    # receive, send, or self (all inputs and outputs are its own; the amount is the fee).
    direction: str
    # Net of the address's own inputs and outputs, in sompi.
    amount_sompi: int
    # KAS, TKAS on test networks.
    asset: str
    # pending, confirmed or dropped.
    status: str
    # Address of the largest foreign input or output; null if none is known.
    counterparty: Optional[str]
    # Time of the block that carries it; null while pending.
    block_time: Optional[str]
    # mempool_entry while pending, utxos_changed once accepted.
    event_kind: str


class AddressTransactions(TypedDict):
    # The address asked for.
    address: str
    # Pending first, then by block time and acceptance, newest first; one for each transaction.
    items: List[AddressTransaction]
    # Pass it as `cursor` to get the next page; null on the last.
    next_cursor: Optional[str]
    # From when on every transaction is indexed: after the last gap.
    coverage_from: Optional[str]
    # What the history reaches over.
    coverage: AddressTransactionsCoverage
    # Credits that this answer cost.
    credits_used: int

# What the history reaches over.
AddressTransactionsCoverage = TypedDict(
    "AddressTransactionsCoverage",
    {
        "from": "Optional[str]",
        "to": "Optional[str]",
        "complete": "bool",
        "gaps": "List[AddressTransactionsCoverageGap]",
    },
)

AddressTransactionsCoverageGap = TypedDict(
    "AddressTransactionsCoverageGap",
    {
        "from": "Optional[str]",
        "to": "Optional[str]",
        "reason": "str",
    },
)


class AddressActivityItem(TypedDict):
    # mempool or utxo.
    kind: str
    # Transaction id; of a utxo the one that created it.
    tx_id: str
    # Sompi; null for mempool items.
    amount: Optional[int]
    # Null for utxo items.
    parsed: Optional[TransactionLookupParsed]


class AddressActivity(TypedDict):
    # The address asked for.
    address: str
    # Mempool items first, then unspent outputs, newest first.
    items: List[AddressActivityItem]
    # Credits that this answer cost.
    credits_used: int


class AddressBalance(TypedDict):
    # The address asked for.
    address: str
    # KAS, TKAS on test networks.
    asset: str
    # The past time asked for; null: now.
    at: Optional[str]
    # Sum of its unspent outputs, in sompi.
    confirmed_sompi: int
    # What the mempool would change; null for a past time.
    pending: Optional[AddressBalancePending]
    # Credits that this answer cost.
    credits_used: int


class AddressBalancePending(TypedDict):
    # What transactions in the mempool pay to it, in sompi.
    incoming_sompi: int
    # What they spend of it, in sompi.
    outgoing_sompi: int
    # How many they are.
    transactions: int


class AddressUtxo(TypedDict):
    # Transaction that created it.
    tx_id: str
    # Which of its outputs.
    index: int
    # Amount in sompi.
    amount_sompi: int
    # Four hex digits of version, then the script.
    script_public_key: str
    # DAA score of the block that accepted it.
    block_daa_score: int
    # Whether a coinbase created it: it can be spent when it is mature.
    is_coinbase: bool
    # The covenant it is bound to; null without one.
    covenant_id: Optional[str]


class AddressUtxos(TypedDict):
    # The address asked for.
    address: str
    # By transaction id and index, ascending.
    items: List[AddressUtxo]
    # Pass it as `cursor` to get the next page; null on the last.
    next_cursor: Optional[str]
    # Credits that this answer cost.
    credits_used: int


class AddressCovenant(TypedDict):
    # The covenant it is bound to.
    covenant_id: str
    # Transaction that created it.
    tx_id: str
    # Which of its outputs.
    index: int
    # Amount in sompi.
    amount_sompi: int
    # Address of its script; null for a script without one.
    address: Optional[str]
    # Four hex digits of version, then the script.
    script_public_key: str
    # Time of the block that carries the transaction.
    block_time: str


class AddressCovenants(TypedDict):
    # The address asked for.
    address: str
    # By covenant, transaction id and index, ascending.
    items: List[CovenantUtxo]
    # Pass it as `cursor` to get the next page; null on the last.
    next_cursor: Optional[str]
    # Outputs that were created earlier are not listed.
    coverage_from: Optional[str]
    # Credits that this answer cost.
    credits_used: int


class CovenantStep(TypedDict):
    # The transaction.
    tx_id: str
    # Time of the block that carries it.
    block_time: str
    # genesis, continuation, or burn (no output goes on with it).
    kind: str
    # What the revealed programs are: kcc20 or kcc0020 (a token), silverscript (a compiled contract, by its frame), unknown; null where none was revealed.
    program: Optional[str]
    # Outputs of the covenant that it spent.
    spent: List[CovenantStepSpent]
    # Outputs that it bound to the covenant.
    created: List[CovenantStepCreated]


class CovenantStepSpent(TypedDict):
    # Which input of the transaction.
    input: int
    # Transaction that created the spent output.
    tx_id: str
    # Which of its outputs.
    index: int
    # Amount in sompi.
    amount_sompi: Optional[int]
    # Address of its script.
    address: Optional[str]
    # Whether a key of the address is shown to have signed. False: its program demanded none. Null: not shown.
    signed: NotRequired[Optional[bool]]
    # Hash of its program; null where it was not paid to a script hash.
    program_hash: Optional[str]
    # State of a KCC-20 token that the spending program has revealed; null where it has none. States of outputs that are not spent are hidden.
    token: Optional[CovenantStepSpentToken]


class CovenantStepSpentToken(TypedDict):
    # Key, script hash or covenant id, as hex.
    owner: str
    # pubkey, script_hash, covenant or presence.
    owner_type: str
    # In the smallest unit of the token.
    amount: int
    # Whether it may mint; null where its form does not say.
    is_minter: Optional[bool]


class CovenantStepCreated(TypedDict):
    # Which output of the transaction.
    index: int
    # Amount in sompi.
    amount_sompi: int
    # Address of its script.
    address: Optional[str]
    # Hash of its program, which is hidden until it is spent.
    program_hash: Optional[str]


class Covenant(TypedDict):
    # The covenant asked for.
    covenant_id: str
    # Transaction that founded it; null where that was before the index began or is no longer stored.
    genesis: Optional[str]
    # As the newest revealed program shows it: kcc20, kcc0020, silverscript or unknown.
    program: Optional[str]
    # Whether the newest step left no output.
    is_burnt: bool
    # Its lineage: every accepted transaction that created or spent it, newest first.
    items: List[CovenantStep]
    # Pass it as `cursor` to get the next page; null on the last.
    next_cursor: Optional[str]
    # From when on every transaction is indexed: after the last gap.
    coverage_from: Optional[str]
    # Credits that this answer cost.
    credits_used: int


class CovenantUtxo(TypedDict):
    # The covenant it is bound to.
    covenant_id: str
    # Transaction that created it.
    tx_id: str
    # Which of its outputs.
    index: int
    # Amount in sompi.
    amount_sompi: int
    # Address of its script; null for a script without one.
    address: Optional[str]
    # Four hex digits of version, then the script.
    script_public_key: str
    # Time of the block that carries the transaction.
    block_time: str


class CovenantUtxos(TypedDict):
    # The covenant asked for.
    covenant_id: str
    # By transaction id and index, ascending.
    items: List[CovenantUtxo]
    # Pass it as `cursor` to get the next page; null on the last.
    next_cursor: Optional[str]
    # Outputs that were created earlier are not listed.
    coverage_from: Optional[str]
    # Credits that this answer cost.
    credits_used: int


class Token(TypedDict):
    # Tick, deploying transaction or covenant id.
    token_id: str
    # krc20, kcc20 or kcc0020 (a draft).
    form: str
    # What the amounts rest on: complete (every operation since its beginning), since_deploy (every one since a deployment that was seen; one of the same tick that is older than the index would make it void), revealed (what programs of spent outputs have shown), unknown (the token is older than the index, so its amounts are null).
    history: str
    # Tick of a KRC-20 token, or the name of an issued one; covenant tokens have none.
    name: Optional[str]
    # Of KRC-20: digits after the point.
    decimals: Optional[int]
    # In circulation, in its smallest unit: minted less burned, or the sum of the states that are proven. Null where it is not known.
    amount: Optional[str]
    # Of KRC-20: what may be minted; 0 is without limit.
    max_amount: Optional[str]
    # Of KRC-20: what one mint gives; 0 for tokens that their owner issues.
    mint_amount: Optional[str]
    # Of KRC-20: who may issue, burn or hand it over.
    owner: Optional[str]
    # Holders that are known; null where history is unknown.
    holders: Optional[int]
    # Of covenant tokens: unspent outputs whose state is proven.
    outputs: Optional[int]
    # Operations or transitions since the index has known it.
    operations: int
    # The first of them.
    first_tx_id: str
    # Time of the block that carries it.
    first_seen: str


class Tokens(TypedDict):
    # By id, ascending.
    items: List[Token]
    # Pass it as `cursor` to get the next page; null on the last.
    next_cursor: Optional[str]
    # Tokens that did nothing since then are not listed.
    coverage_from: Optional[str]
    # Credits that this answer cost.
    credits_used: int


class TokenDetail(TypedDict):
    # Tick, deploying transaction or covenant id.
    token_id: str
    # krc20, kcc20 or kcc0020 (a draft).
    form: str
    # What the amounts rest on: complete (every operation since its beginning), since_deploy (every one since a deployment that was seen; one of the same tick that is older than the index would make it void), revealed (what programs of spent outputs have shown), unknown (the token is older than the index, so its amounts are null).
    history: str
    # Tick of a KRC-20 token, or the name of an issued one; covenant tokens have none.
    name: Optional[str]
    # Of KRC-20: digits after the point.
    decimals: Optional[int]
    # In circulation, in its smallest unit: minted less burned, or the sum of the states that are proven. Null where it is not known.
    amount: Optional[str]
    # Of KRC-20: what may be minted; 0 is without limit.
    max_amount: Optional[str]
    # Of KRC-20: what one mint gives; 0 for tokens that their owner issues.
    mint_amount: Optional[str]
    # Of KRC-20: who may issue, burn or hand it over.
    owner: Optional[str]
    # Holders that are known; null where history is unknown.
    holders: Optional[int]
    # Of covenant tokens: unspent outputs whose state is proven.
    outputs: Optional[int]
    # Operations or transitions since the index has known it.
    operations: int
    # The first of them.
    first_tx_id: str
    # Time of the block that carries it.
    first_seen: str
    # Credits that this answer cost.
    credits_used: int


class TokenHolder(TypedDict):
    # Address; of an owner without one its kind and hex: `covenant:…` or `presence:…`.
    holder: str
    # In the token's smallest unit, what is locked included.
    amount: str
    # Of KRC-20: listed for sale.
    locked: str
    # Of covenant tokens: unspent outputs that are its own.
    outputs: int


class TokenHolders(TypedDict):
    # The token asked for.
    token_id: str
    # Largest amount first.
    items: List[TokenHolder]
    # Why amounts are missing: hidden_until_spent (outputs of the covenant whose states no transaction has shown), older_than_index (nothing is listed); null where all are known, and where that is not checked: covenant tokens with more than 10,000 outputs whose state is proven.
    hidden_reason: Optional[str]
    # Pass it as `cursor` to get the next page; null on the last.
    next_cursor: Optional[str]
    # From when on every transaction is indexed: after the last gap.
    coverage_from: Optional[str]
    # Credits that this answer cost.
    credits_used: int


class FeeEstimate(TypedDict):
    # Network of the estimate.
    network: str
    # For the next block.
    priority: FeeEstimatePriority
    # For inclusion within about a minute.
    normal: List[FeeEstimatePriority]
    # For inclusion within about an hour.
    low: List[FeeEstimatePriority]
    # Whether the experimental estimator was used.
    experimental: bool
    # Credits that this answer cost.
    credits_used: int
    # How to use it.
    guidance: str


class FeeEstimatePriority(TypedDict):
    """For the next block."""

    # Sompi per gram of mass.
    feerate: float
    # Time until it is in a block.
    estimated_seconds: float

# An answer, or for a batch a list of answers in the order of the calls.
RpcResponse = Union["RpcResponseResult", "RpcResponseError", List[Union["RpcResponseResult", "RpcResponseError"]]]


class RpcResponseResult(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    # What the node answered, byte for byte.
    result: Any


class RpcResponseError(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    error: RpcResponseErrorError


class RpcResponseErrorError(TypedDict):
    # Its kind.
    code: Literal[-32700, -32600, -32601, -32602, -32010, -32000, -32020]
    # A sentence, or the text of the node.
    message: str
    # What is known in fields.
    data: NotRequired[Any]

# A call, or a batch of up to 50 (and up to the requests per second of the plan).
RpcRequest = Union["RpcRequestPing", "RpcRequestGetServerInfo", "RpcRequestGetInfo", "RpcRequestGetSyncStatus", "RpcRequestGetCurrentNetwork", "RpcRequestGetSystemInfo", "RpcRequestGetConnections", "RpcRequestGetMetrics", "RpcRequestGetPeerAddresses", "RpcRequestGetConnectedPeerInfo", "RpcRequestGetBlockDagInfo", "RpcRequestGetSink", "RpcRequestGetSinkBlueScore", "RpcRequestGetBlockCount", "RpcRequestGetCurrentBlockColor", "RpcRequestGetBlockRewardInfo", "RpcRequestGetSeqCommitLaneProof", "RpcRequestGetBalanceByAddress", "RpcRequestGetUtxoReturnAddress", "RpcRequestGetFeeEstimate", "RpcRequestGetFeeEstimateExperimental", "RpcRequestGetCoinSupply", "RpcRequestGetDaaScoreTimestampEstimate", "RpcRequestEstimateNetworkHashesPerSecond", "RpcRequestGetSubnetwork", "RpcRequestGetBlock", "RpcRequestGetBlocks", "RpcRequestGetHeaders", "RpcRequestGetVirtualChainFromBlock", "RpcRequestGetVirtualChainFromBlockV2", "RpcRequestGetBlockTemplate", "RpcRequestSubmitBlock", "RpcRequestGetBalancesByAddresses", "RpcRequestGetUtxosByAddresses", "RpcRequestGetMempoolEntry", "RpcRequestGetMempoolEntries", "RpcRequestGetMempoolEntriesByAddresses", "RpcRequestSubmitTransaction", "RpcRequestSubmitTransactionReplacement", List[Union["RpcRequestPing", "RpcRequestGetServerInfo", "RpcRequestGetInfo", "RpcRequestGetSyncStatus", "RpcRequestGetCurrentNetwork", "RpcRequestGetSystemInfo", "RpcRequestGetConnections", "RpcRequestGetMetrics", "RpcRequestGetPeerAddresses", "RpcRequestGetConnectedPeerInfo", "RpcRequestGetBlockDagInfo", "RpcRequestGetSink", "RpcRequestGetSinkBlueScore", "RpcRequestGetBlockCount", "RpcRequestGetCurrentBlockColor", "RpcRequestGetBlockRewardInfo", "RpcRequestGetSeqCommitLaneProof", "RpcRequestGetBalanceByAddress", "RpcRequestGetUtxoReturnAddress", "RpcRequestGetFeeEstimate", "RpcRequestGetFeeEstimateExperimental", "RpcRequestGetCoinSupply", "RpcRequestGetDaaScoreTimestampEstimate", "RpcRequestEstimateNetworkHashesPerSecond", "RpcRequestGetSubnetwork", "RpcRequestGetBlock", "RpcRequestGetBlocks", "RpcRequestGetHeaders", "RpcRequestGetVirtualChainFromBlock", "RpcRequestGetVirtualChainFromBlockV2", "RpcRequestGetBlockTemplate", "RpcRequestSubmitBlock", "RpcRequestGetBalancesByAddresses", "RpcRequestGetUtxosByAddresses", "RpcRequestGetMempoolEntry", "RpcRequestGetMempoolEntries", "RpcRequestGetMempoolEntriesByAddresses", "RpcRequestSubmitTransaction", "RpcRequestSubmitTransactionReplacement"]]]


class RpcRequestPing(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["ping"]
    params: NotRequired[Dict[str, Any]]


class RpcRequestGetServerInfo(TypedDict):
    """Answers are shared for up to 200 ms."""

    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getServerInfo"]
    params: NotRequired[Dict[str, Any]]


class RpcRequestGetInfo(TypedDict):
    """Answers are shared for up to 200 ms."""

    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getInfo"]
    params: NotRequired[Dict[str, Any]]


class RpcRequestGetSyncStatus(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getSyncStatus"]
    params: NotRequired[Dict[str, Any]]


class RpcRequestGetCurrentNetwork(TypedDict):
    """Answers are shared for up to 5000 ms."""

    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getCurrentNetwork"]
    params: NotRequired[Dict[str, Any]]


class RpcRequestGetSystemInfo(TypedDict):
    """Answers are shared for up to 5000 ms."""

    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getSystemInfo"]
    params: NotRequired[Dict[str, Any]]


class RpcRequestGetConnections(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getConnections"]
    params: NotRequired[RpcRequestGetConnectionsParams]


class RpcRequestGetConnectionsParams(TypedDict):
    # include CPU and memory use
    includeProfileData: NotRequired[bool]


class RpcRequestGetMetrics(TypedDict):
    """Answers are shared for up to 500 ms."""

    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getMetrics"]
    params: NotRequired[RpcRequestGetMetricsParams]


class RpcRequestGetMetricsParams(TypedDict):
    # include process metrics
    processMetrics: NotRequired[bool]
    # include connection metrics
    connectionMetrics: NotRequired[bool]
    # include bandwidth metrics
    bandwidthMetrics: NotRequired[bool]
    # include consensus metrics
    consensusMetrics: NotRequired[bool]
    # include storage metrics
    storageMetrics: NotRequired[bool]
    # include custom metrics
    customMetrics: NotRequired[bool]


class RpcRequestGetPeerAddresses(TypedDict):
    """Answers are shared for up to 500 ms."""

    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getPeerAddresses"]
    params: NotRequired[Dict[str, Any]]


class RpcRequestGetConnectedPeerInfo(TypedDict):
    """Answers are shared for up to 500 ms."""

    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getConnectedPeerInfo"]
    params: NotRequired[Dict[str, Any]]


class RpcRequestGetBlockDagInfo(TypedDict):
    """Answers are shared for up to 100 ms."""

    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getBlockDagInfo"]
    params: NotRequired[Dict[str, Any]]


class RpcRequestGetSink(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getSink"]
    params: NotRequired[Dict[str, Any]]


class RpcRequestGetSinkBlueScore(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getSinkBlueScore"]
    params: NotRequired[Dict[str, Any]]


class RpcRequestGetBlockCount(TypedDict):
    """Answers are shared for up to 100 ms."""

    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getBlockCount"]
    params: NotRequired[Dict[str, Any]]


class RpcRequestGetCurrentBlockColor(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getCurrentBlockColor"]
    params: RpcRequestGetCurrentBlockColorParams


class RpcRequestGetCurrentBlockColorParams(TypedDict):
    # a block hash
    hash: str


class RpcRequestGetBlockRewardInfo(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getBlockRewardInfo"]
    params: RpcRequestGetCurrentBlockColorParams


class RpcRequestGetSeqCommitLaneProof(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getSeqCommitLaneProof"]
    params: RpcRequestGetSeqCommitLaneProofParams


class RpcRequestGetSeqCommitLaneProofParams(TypedDict):
    # a chain block
    blockHash: str
    # the lane
    laneKey: str


class RpcRequestGetBalanceByAddress(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getBalanceByAddress"]
    params: RpcRequestGetBalanceByAddressParams


class RpcRequestGetBalanceByAddressParams(TypedDict):
    # the address
    address: str


class RpcRequestGetUtxoReturnAddress(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getUtxoReturnAddress"]
    params: RpcRequestGetUtxoReturnAddressParams


class RpcRequestGetUtxoReturnAddressParams(TypedDict):
    # a transaction id
    txid: str
    # DAA score of its accepting block
    acceptingBlockDaaScore: Union[int, str]


class RpcRequestGetFeeEstimate(TypedDict):
    """Answers are shared for up to 500 ms."""

    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getFeeEstimate"]
    params: NotRequired[Dict[str, Any]]


class RpcRequestGetFeeEstimateExperimental(TypedDict):
    """Answers are shared for up to 500 ms."""

    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getFeeEstimateExperimental"]
    params: NotRequired[RpcRequestGetFeeEstimateExperimentalParams]


class RpcRequestGetFeeEstimateExperimentalParams(TypedDict):
    # include the details
    verbose: NotRequired[bool]


class RpcRequestGetCoinSupply(TypedDict):
    """Answers are shared for up to 500 ms."""

    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getCoinSupply"]
    params: NotRequired[Dict[str, Any]]


class RpcRequestGetDaaScoreTimestampEstimate(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getDaaScoreTimestampEstimate"]
    params: RpcRequestGetDaaScoreTimestampEstimateParams


class RpcRequestGetDaaScoreTimestampEstimateParams(TypedDict):
    # DAA scores
    daaScores: List[Union[int, str]]


class RpcRequestEstimateNetworkHashesPerSecond(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["estimateNetworkHashesPerSecond"]
    params: RpcRequestEstimateNetworkHashesPerSecondParams


class RpcRequestEstimateNetworkHashesPerSecondParams(TypedDict):
    # blocks to look back
    windowSize: Union[int, str]
    # count back from this block; the virtual block by default
    startHash: NotRequired[str]


class RpcRequestGetSubnetwork(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getSubnetwork"]
    params: RpcRequestGetSubnetworkParams


class RpcRequestGetSubnetworkParams(TypedDict):
    # the subnetwork
    subnetworkId: str


class RpcRequestGetBlock(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getBlock"]
    params: RpcRequestGetBlockParams


class RpcRequestGetBlockParams(TypedDict):
    # a block hash
    hash: str
    # include the transactions
    includeTransactions: NotRequired[bool]


class RpcRequestGetBlocks(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getBlocks"]
    params: NotRequired[RpcRequestGetBlocksParams]


class RpcRequestGetBlocksParams(TypedDict):
    # the first block; the genesis by default
    lowHash: NotRequired[str]
    # include the blocks
    includeBlocks: NotRequired[bool]
    # include their transactions (needs includeBlocks)
    includeTransactions: NotRequired[bool]


class RpcRequestGetHeaders(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getHeaders"]
    params: RpcRequestGetHeadersParams


class RpcRequestGetHeadersParams(TypedDict):
    # the first header
    startHash: str
    # how many
    limit: Union[int, str]
    # towards the tip
    isAscending: NotRequired[bool]


class RpcRequestGetVirtualChainFromBlock(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getVirtualChainFromBlock"]
    params: RpcRequestGetVirtualChainFromBlockParams


class RpcRequestGetVirtualChainFromBlockParams(TypedDict):
    # a block of the selected chain
    startHash: str
    # include the accepted ids
    includeAcceptedTransactionIds: NotRequired[bool]
    # leave out younger blocks
    minConfirmationCount: NotRequired[Union[int, str]]


class RpcRequestGetVirtualChainFromBlockV2(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getVirtualChainFromBlockV2"]
    params: RpcRequestGetVirtualChainFromBlockV2Params


class RpcRequestGetVirtualChainFromBlockV2Params(TypedDict):
    # a block of the selected chain
    startHash: str
    # how much to include
    dataVerbosityLevel: NotRequired[Literal["None", "Low", "High", "Full"]]
    # leave out younger blocks
    minConfirmationCount: NotRequired[Union[int, str]]


class RpcRequestGetBlockTemplate(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getBlockTemplate"]
    params: RpcRequestGetBlockTemplateParams


class RpcRequestGetBlockTemplateParams(TypedDict):
    # who is paid
    payAddress: str
    # bytes for the coinbase payload
    extraData: List[Union[int, str]]


class RpcRequestSubmitBlock(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["submitBlock"]
    params: RpcRequestSubmitBlockParams


class RpcRequestSubmitBlockParams(TypedDict):
    block: RpcRequestSubmitBlockParamsBlock
    # accept a block off the DAA window
    allowNonDaaBlocks: NotRequired[bool]


class RpcRequestSubmitBlockParamsBlock(TypedDict):
    header: RpcRequestSubmitBlockParamsBlockHeader
    # transactions, with up to 2,000 inputs and outputs together
    transactions: List[Dict[str, Any]]


class RpcRequestSubmitBlockParamsBlockHeader(TypedDict):
    # header version
    version: Union[int, str]
    # parents, one list per level
    parentsByLevel: List[List[str]]
    # merkle root
    hashMerkleRoot: str
    # merkle root of accepted ids
    acceptedIdMerkleRoot: str
    # UTXO commitment
    utxoCommitment: str
    # milliseconds
    timestamp: Union[int, str]
    # difficulty bits
    bits: Union[int, str]
    # nonce
    nonce: Union[int, str]
    # DAA score
    daaScore: Union[int, str]
    # blue work, hex
    blueWork: str
    # blue score
    blueScore: Union[int, str]
    # pruning point
    pruningPoint: str


class RpcRequestGetBalancesByAddresses(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getBalancesByAddresses"]
    params: RpcRequestGetBalancesByAddressesParams


class RpcRequestGetBalancesByAddressesParams(TypedDict):
    # addresses of the network
    addresses: List[str]


class RpcRequestGetUtxosByAddresses(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getUtxosByAddresses"]
    params: RpcRequestGetBalancesByAddressesParams


class RpcRequestGetMempoolEntry(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getMempoolEntry"]
    params: RpcRequestGetMempoolEntryParams


class RpcRequestGetMempoolEntryParams(TypedDict):
    # a transaction id
    transactionId: str
    # also look at orphans
    includeOrphanPool: NotRequired[bool]
    # leave out the pool itself (orphans only)
    filterTransactionPool: NotRequired[bool]


class RpcRequestGetMempoolEntries(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getMempoolEntries"]
    params: NotRequired[RpcRequestGetMempoolEntriesParams]


class RpcRequestGetMempoolEntriesParams(TypedDict):
    # also look at orphans
    includeOrphanPool: NotRequired[bool]
    # leave out the pool itself (orphans only)
    filterTransactionPool: NotRequired[bool]


class RpcRequestGetMempoolEntriesByAddresses(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["getMempoolEntriesByAddresses"]
    params: RpcRequestGetMempoolEntriesByAddressesParams


class RpcRequestGetMempoolEntriesByAddressesParams(TypedDict):
    # addresses of the network
    addresses: List[str]
    # also look at orphans
    includeOrphanPool: NotRequired[bool]
    # leave out the pool itself (orphans only)
    filterTransactionPool: NotRequired[bool]


class RpcRequestSubmitTransaction(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["submitTransaction"]
    params: RpcRequestSubmitTransactionParams


class RpcRequestSubmitTransactionParams(TypedDict):
    # a signed transaction
    transaction: Dict[str, Any]
    # accept it without its parents
    allowOrphan: NotRequired[bool]


class RpcRequestSubmitTransactionReplacement(TypedDict):
    # Version of the protocol.
    jsonrpc: Literal["2.0"]
    # Chosen by the caller, copied into the answer.
    id: Optional[Union[str, float]]
    method: Literal["submitTransactionReplacement"]
    params: RpcRequestSubmitTransactionReplacementParams


class RpcRequestSubmitTransactionReplacementParams(TypedDict):
    # a signed transaction that replaces one in the mempool
    transaction: Dict[str, Any]


class Webhook(TypedDict):
    # Id of the webhook.
    id: str
    # Where deliveries go.
    url: str
    # Kinds of events.
    kinds: List[Literal["block_added", "virtual_chain_changed", "virtual_daa_score_changed", "sink_blue_score_changed", "utxos_changed", "mempool_entry", "covenant_execution", "krc20_activity", "native_asset_transfer", "scriptlang_event", "covenant_created", "covenant_spent", "token_transfer"]]
    # Addresses that narrow the kinds which have some; needed for utxos_changed.
    addresses: List[str]
    # Whether what is waiting, up to 100 events, 1 MiB or 200 ms, comes in one POST as an array.
    batch: bool
    # Whether events are delivered.
    active: bool
    # When it was created.
    created_at: str
    # Why the service switched it off: gone, failing, paused, key_revoked, key_expired; null while it did not.
    disabled_reason: Optional[str]
    # When the service switched it off.
    disabled_at: Optional[str]
    # Why deliveries wait: credits_exhausted, account_paused, plan, account_missing; null while they do not, and while it is off.
    paused_reason: Optional[str]
    # First failure or pause since the last success.
    failing_since: Optional[str]
    # When the last delivery was taken.
    last_success_at: Optional[str]


class Webhooks(TypedDict):
    # Oldest first.
    webhooks: List[Webhook]
    # Pass it as cursor to get the next page; null on the last.
    next_cursor: Optional[str]
    # Credits that this call cost.
    credits_used: int


class CreatedWebhook(TypedDict):
    # Id of the webhook.
    id: str
    # Where deliveries go.
    url: str
    # Kinds of events.
    kinds: List[Literal["block_added", "virtual_chain_changed", "virtual_daa_score_changed", "sink_blue_score_changed", "utxos_changed", "mempool_entry", "covenant_execution", "krc20_activity", "native_asset_transfer", "scriptlang_event", "covenant_created", "covenant_spent", "token_transfer"]]
    # Addresses that narrow the kinds which have some; needed for utxos_changed.
    addresses: List[str]
    # Whether what is waiting, up to 100 events, 1 MiB or 200 ms, comes in one POST as an array.
    batch: bool
    # Whether events are delivered.
    active: bool
    # When it was created.
    created_at: str
    # Signing secret; shown once.
    secret: str
    # Credits that this call cost.
    credits_used: int


class NewWebhook(TypedDict):
    # HTTPS address of the receiver; port 443 or 1024 and above.
    url: str
    # Kinds of events.
    kinds: List[Literal["block_added", "virtual_chain_changed", "virtual_daa_score_changed", "sink_blue_score_changed", "utxos_changed", "mempool_entry", "covenant_execution", "krc20_activity", "native_asset_transfer", "scriptlang_event", "covenant_created", "covenant_spent", "token_transfer"]]
    # Addresses that narrow the kinds which have some; needed for utxos_changed.
    addresses: NotRequired[List[str]]
    # Whether what is waiting, up to 100 events, 1 MiB or 200 ms, comes in one POST as an array.
    batch: NotRequired[bool]


class FoundWebhook(TypedDict):
    # Id of the webhook.
    id: str
    # Where deliveries go.
    url: str
    # Kinds of events.
    kinds: List[Literal["block_added", "virtual_chain_changed", "virtual_daa_score_changed", "sink_blue_score_changed", "utxos_changed", "mempool_entry", "covenant_execution", "krc20_activity", "native_asset_transfer", "scriptlang_event", "covenant_created", "covenant_spent", "token_transfer"]]
    # Addresses that narrow the kinds which have some; needed for utxos_changed.
    addresses: List[str]
    # Whether what is waiting, up to 100 events, 1 MiB or 200 ms, comes in one POST as an array.
    batch: bool
    # Whether events are delivered.
    active: bool
    # When it was created.
    created_at: str
    # Why the service switched it off: gone, failing, paused, key_revoked, key_expired; null while it did not.
    disabled_reason: Optional[str]
    # When the service switched it off.
    disabled_at: Optional[str]
    # Why deliveries wait: credits_exhausted, account_paused, plan, account_missing; null while they do not, and while it is off.
    paused_reason: Optional[str]
    # First failure or pause since the last success.
    failing_since: Optional[str]
    # When the last delivery was taken.
    last_success_at: Optional[str]
    # Credits that this call cost.
    credits_used: int


class ChangedWebhook(TypedDict):
    # Id of the webhook.
    id: str
    # Where deliveries go.
    url: str
    # Kinds of events.
    kinds: List[Literal["block_added", "virtual_chain_changed", "virtual_daa_score_changed", "sink_blue_score_changed", "utxos_changed", "mempool_entry", "covenant_execution", "krc20_activity", "native_asset_transfer", "scriptlang_event", "covenant_created", "covenant_spent", "token_transfer"]]
    # Addresses that narrow the kinds which have some; needed for utxos_changed.
    addresses: List[str]
    # Whether what is waiting, up to 100 events, 1 MiB or 200 ms, comes in one POST as an array.
    batch: bool
    # Whether events are delivered.
    active: bool
    # When it was created.
    created_at: str
    # Why the service switched it off: gone, failing, paused, key_revoked, key_expired; null while it did not.
    disabled_reason: Optional[str]
    # When the service switched it off.
    disabled_at: Optional[str]
    # Why deliveries wait: credits_exhausted, account_paused, plan, account_missing; null while they do not, and while it is off.
    paused_reason: Optional[str]
    # First failure or pause since the last success.
    failing_since: Optional[str]
    # When the last delivery was taken.
    last_success_at: Optional[str]
    # Credits that this call cost.
    credits_used: int


class WebhookChange(TypedDict):
    # Off stops deliveries; on starts them, also after the service switched it off.
    active: NotRequired[bool]
    # Kinds of events.
    kinds: NotRequired[List[Literal["block_added", "virtual_chain_changed", "virtual_daa_score_changed", "sink_blue_score_changed", "utxos_changed", "mempool_entry", "covenant_execution", "krc20_activity", "native_asset_transfer", "scriptlang_event", "covenant_created", "covenant_spent", "token_transfer"]]]
    # Addresses that narrow the kinds which have some; needed for utxos_changed.
    addresses: NotRequired[List[str]]
    # Whether what is waiting, up to 100 events, 1 MiB or 200 ms, comes in one POST as an array.
    batch: NotRequired[bool]


class DeletedWebhook(TypedDict):
    # Id of the webhook.
    id: str
    # It is gone.
    deleted: Literal[True]
    # Credits that this call cost.
    credits_used: int


class Delivery(TypedDict):
    # Id of the delivery, as in X-Svc-Delivery.
    id: str
    # Id of the event.
    event_id: str
    # Number of the event.
    seq: int
    # Kind of the event.
    kind: str
    # failed: no further try will be made; a replay sends it again.
    state: Literal["pending", "delivered", "failed"]
    # Tries so far.
    attempts: int
    # HTTP status of the last try; null without an answer.
    last_status: Optional[int]
    # What was wrong with the last try.
    last_error: Optional[str]
    # When the last try ended.
    last_attempt_at: Optional[str]
    # How long the last try took.
    duration_ms: Optional[int]
    # When the next try is due.
    next_attempt_at: Optional[str]
    # When the delivery was planned.
    created_at: str


class Deliveries(TypedDict):
    # Id of the webhook.
    id: str
    # Newest first.
    deliveries: List[Delivery]
    # Pass it as cursor to get the next page; null on the last.
    next_cursor: Optional[str]
    # Credits that this call cost.
    credits_used: int


class WebhookTest(TypedDict):
    # Id of the webhook.
    id: str
    # Id of the delivery, as in X-Svc-Delivery.
    delivery_id: str
    # Id of the sample event.
    event_id: str
    # Whether the receiver answered 2xx in time.
    delivered: bool
    # HTTP status of the answer; null without one.
    status: Optional[int]
    # What was wrong.
    error: Optional[str]
    # How long it took.
    duration_ms: int
    # Credits that this call cost.
    credits_used: int


class RotatedSecret(TypedDict):
    # Id of the webhook.
    id: str
    # The new signing secret; shown once.
    secret: str
    # Until when the old secret signs too.
    previous_valid_until: str
    # Credits that this call cost.
    credits_used: int


class Replay(TypedDict):
    # Id of the webhook.
    id: str
    # Events that will be delivered again.
    events: int
    # Events of the range that wait to be delivered already; they are not planned again.
    already_pending: int
    # Where the range began.
    after_seq: int
    # Where it ends.
    up_to_seq: int
    # Where to go on when there was more than one call replays.
    next_after_seq: Optional[int]
    # Whether the log no longer reached back to the beginning.
    gap: bool
    # Credits that this call cost.
    credits_used: int


class ReplayRange(TypedDict):
    # Events with a higher number.
    after_seq: NotRequired[int]
    # Events from this time on. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
    since: NotRequired[Time]
    # No event with a higher number. Without an end: everything up to now.
    up_to_seq: NotRequired[int]
    # Events before this time. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
    until: NotRequired[Time]


class Limits(TypedDict):
    # Name of the plan.
    plan: str
    # Market-data name of the plan.
    tier: Literal["free", "pro", "business"]
    # Of the key where it has a cap of its own, else of the account.
    credits: LimitsCredits
    # Of the account; only where the key has a cap of its own.
    account_credits: NotRequired[LimitsCredits]
    rate_limits: LimitsRateLimits
    # What the plan can do.
    features: Dict[str, bool]
    # Most rows of one page.
    max_rows_per_request: int
    # Days of history per kind of data; null means all of it.
    max_history_days: Dict[str, Optional[int]]
    key: LimitsKey


class LimitsCredits(TypedDict):
    """Of the key where it has a cap of its own, else of the account."""

    # Credits used in this period.
    used: int
    # Credits of this period.
    limit: int
    # Credits that are left.
    remaining: int
    # When the credits are renewed.
    resets_at: str


class LimitsRateLimits(TypedDict):
    # Requests allowed per second.
    requests_per_second: int
    # Requests allowed per minute.
    requests_per_minute: int
    # Requests of the last second, this one included.
    current_second: int
    # Requests of the last minute, this one included.
    current_minute: int


class LimitsKey(TypedDict):
    # Name of the key that was used.
    name: str
    # Environment of the key.
    environment: Literal["test", "live"]
    # When the key expires; null: never.
    expires_at: Optional[str]


class Status(TypedDict):
    # ok; degraded when some part is stale or down, or the disk nearly full; down when nothing works.
    status: Literal["ok", "degraded", "down"]
    # The environment that the key reads.
    environment: Literal["test", "live"]
    # One record per recorded source.
    ingestion: List[StatusIngestion]
    # The upstream nodes.
    nodes: List[StatusNode]
    index: StatusIndex
    webhooks: StatusWebhooks
    # The disk of the store.
    disk: StatusDisk
    # That no venue is recorded or no node is connected here, and which setting changes that; null otherwise.
    notice: Optional[str]


class StatusIngestion(TypedDict):
    # Source that is recorded.
    source: str
    # Whether data arrives as it should.
    status: Literal["healthy", "stale", "down"]
    # Time of the newest recorded event.
    last_event_at: Optional[str]
    # Seconds since then.
    lag_seconds: Optional[float]
    # Rows written since the process started.
    rows_inserted: int
    # Gaps recorded in the last 24 hours.
    gaps_24h: int
    # Share of the first fill with history that is done; null where there is none.
    backfill: Optional[float]
    # Self-checks: sealed pages are read again, rows are compared with each other and with the venue.
    audit: StatusIngestionAudit
    # What the operator should know, such as missing credentials; null where there is nothing.
    notice: Optional[str]
    # One record per dataset of the source.
    coverage: List[StatusIngestionCoverage]


class StatusIngestionAudit(TypedDict):
    """Self-checks: sealed pages are read again, rows are compared with each other and with the venue."""

    # Ranges of stored data that were examined since the process started.
    checked: int
    # What was found to be wrong in them, and became a correction or a gap.
    differences: int

StatusIngestionCoverage = TypedDict(
    "StatusIngestionCoverage",
    {
        "dataset": "str",
        "interval": "Optional[str]",
        "from": "Optional[str]",
        "to": "Optional[str]",
    },
)


class StatusNode(TypedDict):
    # Name of the node.
    name: str
    # State of the node in the pool.
    state: str
    # Whether the node is in step with its network.
    synced: bool
    # Its virtual DAA score.
    daa_score: Optional[float]
    # How far it is behind the best node, in DAA score.
    lag: Optional[float]


class StatusIndex(TypedDict):
    # Whether the chain is indexed; restarting while what does it is started again or keeps failing, off where there is no node.
    state: Literal["running", "restarting", "off"]
    # How often it had to be started again.
    restarts: int
    # From when on every transaction is indexed; null before the first start.
    coverage_from: Optional[str]
    # Gaps recorded in the last 24 hours, counted up to 1,000.
    gaps_24h: int
    # The newest ten gaps, oldest first.
    gaps: List[StatusIndexGap]

StatusIndexGap = TypedDict(
    "StatusIndexGap",
    {
        "recorded_at": "str",
        "from": "str",
        "to": "str",
        "reason": "str",
    },
)


class StatusWebhooks(TypedDict):
    # Deliveries that wait.
    pending: int
    # Age of the oldest of them.
    oldest_pending_seconds: float


class StatusDisk(TypedDict):
    """The disk of the store."""

    # low when there is less room than the operator wants: backfills and replays of webhooks stop, so that recording goes on.
    state: Literal["ok", "low"]
    # When it was measured; null before the first time.
    measured_at: Optional[str]
    # What the service stores, in all environments.
    used_bytes: Optional[float]
    # Room on the disk; null where the disk is that of another server.
    free_bytes: Optional[float]
    # By how much that grows, over the last 24 hours. Null until it is known.
    growth_bytes_per_day: Optional[float]
    # When the disk will be full if it goes on like that; null where it will not.
    full_at: Optional[str]
    # What this environment stores.
    parts: List[StatusDiskPart]


class StatusDiskPart(TypedDict):
    # A dataset (candles, trades, …), chain (index and events) or webhooks.
    part: str
    # Stored rows, where they are counted.
    rows: Optional[float]
    # What it takes, with its share of indexes.
    bytes: float
    # By how much that grows. Null until it is known.
    growth_bytes_per_day: Optional[float]


class Health(TypedDict):
    # Always ok: a process that cannot answer does not.
    status: Literal["ok"]
    # Version of the running service.
    version: str
    # Seconds since the process started.
    uptime_seconds: int


class Ready(TypedDict):
    # Whether every part works.
    ready: bool
    # The parts that were asked.
    parts: List[ReadyPart]


class ReadyPart(TypedDict):
    # Name of the part.
    name: str
    # Whether it works.
    ok: bool
    # What is wrong with it.
    detail: NotRequired[str]


class OpenApi(TypedDict):
    # Version of OpenAPI.
    openapi: str


class AsyncApi(TypedDict):
    # Version of AsyncAPI.
    asyncapi: str


class BlockAddedEvent(TypedDict):
    id: str
    seq: int
    kind: Literal["block_added"]
    network: str
    created_at: str
    addresses: List[str]
    data: BlockAddedEventData


class BlockAddedEventData(TypedDict):
    hash: str
    daa_score: int
    blue_score: int
    timestamp: str
    transaction_ids: List[str]


class VirtualChainChangedEvent(TypedDict):
    id: str
    seq: int
    kind: Literal["virtual_chain_changed"]
    network: str
    created_at: str
    addresses: List[str]
    data: VirtualChainChangedEventData


class VirtualChainChangedEventData(TypedDict):
    removed: List[str]
    added: List[str]
    accepted: List[VirtualChainChangedEventDataAccepted]


class VirtualChainChangedEventDataAccepted(TypedDict):
    accepting_block_hash: str
    transaction_ids: List[str]


class VirtualDaaScoreChangedEvent(TypedDict):
    id: str
    seq: int
    kind: Literal["virtual_daa_score_changed"]
    network: str
    created_at: str
    addresses: List[str]
    data: VirtualDaaScoreChangedEventData


class VirtualDaaScoreChangedEventData(TypedDict):
    daa_score: int


class SinkBlueScoreChangedEvent(TypedDict):
    id: str
    seq: int
    kind: Literal["sink_blue_score_changed"]
    network: str
    created_at: str
    addresses: List[str]
    data: SinkBlueScoreChangedEventData


class SinkBlueScoreChangedEventData(TypedDict):
    blue_score: int


class UtxosChangedEvent(TypedDict):
    id: str
    seq: int
    kind: Literal["utxos_changed"]
    network: str
    created_at: str
    addresses: List[str]
    data: UtxosChangedEventData


class UtxosChangedEventData(TypedDict):
    address: str
    tx_id: str
    added: List[UtxosChangedEventDataAdded]
    removed: List[UtxosChangedEventDataAdded]
    daa_score: int
    retracted: bool
    retracts: Optional[str]


class UtxosChangedEventDataAdded(TypedDict):
    tx_id: str
    index: int
    # sompi
    amount_sompi: int


class MempoolEntryEvent(TypedDict):
    id: str
    seq: int
    kind: Literal["mempool_entry"]
    network: str
    created_at: str
    addresses: List[str]
    data: MempoolEntryEventData


class MempoolEntryEventData(TypedDict):
    tx_id: str
    # sompi; null where an input is not known
    fee_sompi: Optional[int]
    is_orphan: bool
    # where it was seen first: block when it left the mempool between two polls
    first_seen: Literal["mempool", "block"]
    tags: List[str]
    outputs: List[MempoolEntryEventDataOutput]


class MempoolEntryEventDataOutput(TypedDict):
    index: int
    # sompi
    amount_sompi: int
    address: Optional[str]
    script_public_key: str
    script_class: str
    covenant: Optional[MempoolEntryEventDataOutputCovenant]


class MempoolEntryEventDataOutputCovenant(TypedDict):
    id: str
    authorizing_input: int


class CovenantExecutionEvent(TypedDict):
    id: str
    seq: int
    kind: Literal["covenant_execution"]
    network: str
    created_at: str
    addresses: List[str]
    data: CovenantExecutionEventData


class CovenantExecutionEventData(TypedDict):
    tx_id: str
    stage: Literal["mempool", "accepted"]
    tags: List[str]
    detail: Dict[str, Any]
    outputs: List[MempoolEntryEventDataOutput]


class Krc20ActivityEvent(TypedDict):
    id: str
    seq: int
    kind: Literal["krc20_activity"]
    network: str
    created_at: str
    addresses: List[str]
    data: CovenantExecutionEventData


class NativeAssetTransferEvent(TypedDict):
    id: str
    seq: int
    kind: Literal["native_asset_transfer"]
    network: str
    created_at: str
    addresses: List[str]
    data: CovenantExecutionEventData


class ScriptlangEvent(TypedDict):
    id: str
    seq: int
    kind: Literal["scriptlang_event"]
    network: str
    created_at: str
    addresses: List[str]
    data: CovenantExecutionEventData


class CovenantCreatedEvent(TypedDict):
    id: str
    seq: int
    kind: Literal["covenant_created"]
    network: str
    created_at: str
    addresses: List[str]
    data: CovenantCreatedEventData


class CovenantCreatedEventData(TypedDict):
    covenant_id: str
    tx_id: str
    daa_score: int
    retracted: bool
    retracts: Optional[str]
    # the covenant begins here
    is_genesis: bool
    outputs: List[CovenantCreatedEventDataOutput]


class CovenantCreatedEventDataOutput(TypedDict):
    tx_id: str
    index: int
    # sompi
    amount_sompi: int
    address: Optional[str]


class CovenantSpentEvent(TypedDict):
    id: str
    seq: int
    kind: Literal["covenant_spent"]
    network: str
    created_at: str
    addresses: List[str]
    data: CovenantSpentEventData


class CovenantSpentEventData(TypedDict):
    covenant_id: str
    tx_id: str
    daa_score: int
    retracted: bool
    retracts: Optional[str]
    # no output carries it on
    is_burn: bool
    inputs: List[CovenantSpentEventDataInput]


class CovenantSpentEventDataInput(TypedDict):
    tx_id: str
    index: int
    # sompi
    amount_sompi: int
    address: Optional[str]
    # a key of the address has signed; false: none had to; null: not shown
    signed: Optional[bool]


class TokenTransferEvent(TypedDict):
    id: str
    seq: int
    kind: Literal["token_transfer"]
    network: str
    created_at: str
    addresses: List[str]
    data: TokenTransferEventData

TokenTransferEventData = TypedDict(
    "TokenTransferEventData",
    {
        "token_id": "str",
        "form": "str",
        "tx_id": "str",
        "daa_score": "int",
        "retracted": "bool",
        "retracts": "Optional[str]",
        "operation": "str",
        "valid": "Optional[Literal[True]]",
        "from": "List[TokenTransferEventDataFrom]",
        "to": "List[TokenTransferEventDataTo]",
    },
)


class TokenTransferEventDataFrom(TypedDict):
    # address, or kind and hex of another owner; null while it is hidden
    holder: Optional[str]
    # digits, in the token's smallest unit; null while it is hidden
    amount: Optional[str]
    # a key of the address has signed; false: none had to; null: not shown
    signed: Optional[bool]


class TokenTransferEventDataTo(TypedDict):
    # address, or kind and hex of another owner; null while it is hidden
    holder: Optional[str]
    # digits, in the token's smallest unit; null while it is hidden
    amount: Optional[str]

# Any event.
ChainEvent = Union["BlockAddedEvent", "VirtualChainChangedEvent", "VirtualDaaScoreChangedEvent", "SinkBlueScoreChangedEvent", "UtxosChangedEvent", "MempoolEntryEvent", "CovenantExecutionEvent", "Krc20ActivityEvent", "NativeAssetTransferEvent", "ScriptlangEvent", "CovenantCreatedEvent", "CovenantSpentEvent", "TokenTransferEvent"]

# Kinds of events.
EventKind = Literal["block_added", "virtual_chain_changed", "virtual_daa_score_changed", "sink_blue_score_changed", "utxos_changed", "mempool_entry", "covenant_execution", "krc20_activity", "native_asset_transfer", "scriptlang_event", "covenant_created", "covenant_spent", "token_transfer"]


class MarketsMeta(TypedDict):
    # Markets that fit the filters, on all pages; null where they are more than 2,000.
    total: Optional[int]
    # Rows per page that are allowed here.
    limit: int
    # Rows of the pages before this one.
    offset: Optional[int]


class InvalidSymbolError(ApiError):
    """Refused with the code ``invalid_symbol``."""

    code = "invalid_symbol"


class InvalidSourceError(ApiError):
    """Refused with the code ``invalid_source``."""

    code = "invalid_source"


class InvalidIntervalError(ApiError):
    """Refused with the code ``invalid_interval``."""

    code = "invalid_interval"


class InvalidSideError(ApiError):
    """Refused with the code ``invalid_side``."""

    code = "invalid_side"


class InvalidTimeRangeError(ApiError):
    """Refused with the code ``invalid_time_range``."""

    code = "invalid_time_range"


class UnauthorizedError(ApiError):
    """Refused with the code ``unauthorized``."""

    code = "unauthorized"


class CreditsExhaustedError(ApiError):
    """Refused with the code ``credits_exhausted``."""

    code = "credits_exhausted"


class PlanRequiredError(ApiError):
    """Refused with the code ``plan_required``."""

    code = "plan_required"


class TierRestrictedError(ApiError):
    """Refused with the code ``tier_restricted``."""

    code = "tier_restricted"


class NotFoundError(ApiError):
    """Refused with the code ``not_found``."""

    code = "not_found"


class MarketNotFoundError(ApiError):
    """Refused with the code ``market_not_found``."""

    code = "market_not_found"


class TransactionNotFoundError(ApiError):
    """Refused with the code ``transaction_not_found``."""

    code = "transaction_not_found"


class MethodNotAllowedError(ApiError):
    """Refused with the code ``method_not_allowed``."""

    code = "method_not_allowed"


class IdempotencyConflictError(ApiError):
    """Refused with the code ``idempotency_conflict``."""

    code = "idempotency_conflict"


class PayloadTooLargeError(ApiError):
    """Refused with the code ``payload_too_large``."""

    code = "payload_too_large"


class UnsupportedMediaTypeError(ApiError):
    """Refused with the code ``unsupported_media_type``."""

    code = "unsupported_media_type"


class InvalidParamError(ApiError):
    """Refused with the code ``invalid_param``."""

    code = "invalid_param"


class TransactionRejectedError(ApiError):
    """Refused with the code ``transaction_rejected``."""

    code = "transaction_rejected"


class UpgradeRequiredError(ApiError):
    """Refused with the code ``upgrade_required``."""

    code = "upgrade_required"


class RateLimitedError(ApiError):
    """Refused with the code ``rate_limited``."""

    code = "rate_limited"


class RateLimitExceededError(ApiError):
    """Refused with the code ``rate_limit_exceeded``."""

    code = "rate_limit_exceeded"


class InternalError(ApiError):
    """Refused with the code ``internal_error``."""

    code = "internal_error"


class DataNotAvailableError(ApiError):
    """Refused with the code ``data_not_available``."""

    code = "data_not_available"


class UpstreamError(ApiError):
    """Refused with the code ``upstream_error``."""

    code = "upstream_error"


class UpstreamUnavailableError(ApiError):
    """Refused with the code ``upstream_unavailable``."""

    code = "upstream_unavailable"


class EnvironmentUnavailableError(ApiError):
    """Refused with the code ``environment_unavailable``."""

    code = "environment_unavailable"


class UpstreamTimeoutError(ApiError):
    """Refused with the code ``upstream_timeout``."""

    code = "upstream_timeout"


ERROR_CLASSES: Dict[str, Type[ApiError]] = {
    "invalid_symbol": InvalidSymbolError,
    "invalid_source": InvalidSourceError,
    "invalid_interval": InvalidIntervalError,
    "invalid_side": InvalidSideError,
    "invalid_time_range": InvalidTimeRangeError,
    "unauthorized": UnauthorizedError,
    "credits_exhausted": CreditsExhaustedError,
    "plan_required": PlanRequiredError,
    "tier_restricted": TierRestrictedError,
    "not_found": NotFoundError,
    "market_not_found": MarketNotFoundError,
    "transaction_not_found": TransactionNotFoundError,
    "method_not_allowed": MethodNotAllowedError,
    "idempotency_conflict": IdempotencyConflictError,
    "payload_too_large": PayloadTooLargeError,
    "unsupported_media_type": UnsupportedMediaTypeError,
    "invalid_param": InvalidParamError,
    "transaction_rejected": TransactionRejectedError,
    "upgrade_required": UpgradeRequiredError,
    "rate_limited": RateLimitedError,
    "rate_limit_exceeded": RateLimitExceededError,
    "internal_error": InternalError,
    "data_not_available": DataNotAvailableError,
    "upstream_error": UpstreamError,
    "upstream_unavailable": UpstreamUnavailableError,
    "environment_unavailable": EnvironmentUnavailableError,
    "upstream_timeout": UpstreamTimeoutError,
}

OPERATIONS: Dict[str, Operation] = {
    "sources": Operation("GET", "/v1/sources"),
    "symbols": Operation("GET", "/v1/symbols"),
    "candles": Operation("GET", "/v1/candles", rows_field="data", cursor_param="after", has_limit=True, times=("timestamp", ), floats=("open", "high", "low", "close", "volume", "taker_buy_ratio", "funding_rate", "open_interest", ), integers=("num_trades", ), given_times=("start", "end", )),
    "predmkt_a_candles": Operation("GET", "/v1/predmkt_a/candles", rows_field="data", cursor_param="after", has_limit=True, times=("timestamp", ), floats=("open", "high", "low", "close", "volume", "taker_buy_ratio", "funding_rate", "open_interest", ), integers=("num_trades", ), given_times=("start", "end", )),
    "predmkt_b_by_symbol": Operation("GET", "/v1/predmkt_b/{symbol}", rows_field="data", cursor_param="after", has_limit=True, times=("timestamp", ), floats=("open", "high", "low", "close", "volume", "taker_buy_ratio", "funding_rate", "open_interest", ), integers=("num_trades", ), given_times=("start", "end", "start_time", "end_time", )),
    "perpdex_by_symbol": Operation("GET", "/v1/perpdex/{symbol}", rows_field="data", cursor_param="after", has_limit=True, times=("timestamp", ), floats=("open", "high", "low", "close", "volume", "taker_buy_ratio", "funding_rate", "open_interest", ), integers=("num_trades", ), given_times=("start", "end", "start_time", "end_time", )),
    "snapshots": Operation("GET", "/v1/snapshots", rows_field="data", cursor_param="after", has_limit=True, times=("timestamp", ), floats=("best_bid", "best_ask", "mid_price", "spread", "imbalance", "price_up", "price_down", "reference_price", "yes_bid", "yes_ask", "no_bid", "no_ask", "last_price", "volume", "open_interest", ), integers=(), given_times=("start", "end", )),
    "predmkt_a_snapshots": Operation("GET", "/v1/predmkt_a/snapshots", rows_field="data", cursor_param="after", has_limit=True, times=("timestamp", ), floats=("best_bid", "best_ask", "mid_price", "spread", "imbalance", "price_up", "price_down", "reference_price", "yes_bid", "yes_ask", "no_bid", "no_ask", "last_price", "volume", "open_interest", ), integers=(), given_times=("start", "end", )),
    "predmkt_a_orderbook": Operation("GET", "/v1/predmkt_a/orderbook", rows_field="data", cursor_param="after", has_limit=True, times=("timestamp", ), floats=("best_bid", "best_ask", "mid_price", "spread", "imbalance", "price_up", "price_down", "reference_price", "yes_bid", "yes_ask", "no_bid", "no_ask", "last_price", "volume", "open_interest", ), integers=(), given_times=("start", "end", )),
    "predmkt_b_snapshots": Operation("GET", "/v1/predmkt_b/snapshots", rows_field="data", cursor_param="after", has_limit=True, times=("timestamp", ), floats=("best_bid", "best_ask", "mid_price", "spread", "imbalance", "price_up", "price_down", "reference_price", "yes_bid", "yes_ask", "no_bid", "no_ask", "last_price", "volume", "open_interest", ), integers=(), given_times=("start", "end", )),
    "predmkt_b_orderbook": Operation("GET", "/v1/predmkt_b/orderbook", rows_field="data", cursor_param="after", has_limit=True, times=("timestamp", ), floats=("best_bid", "best_ask", "mid_price", "spread", "imbalance", "price_up", "price_down", "reference_price", "yes_bid", "yes_ask", "no_bid", "no_ask", "last_price", "volume", "open_interest", ), integers=(), given_times=("start", "end", )),
    "perpdex_snapshots": Operation("GET", "/v1/perpdex/snapshots", rows_field="data", cursor_param="after", has_limit=True, times=("timestamp", ), floats=("best_bid", "best_ask", "mid_price", "spread", "imbalance", "price_up", "price_down", "reference_price", "yes_bid", "yes_ask", "no_bid", "no_ask", "last_price", "volume", "open_interest", ), integers=(), given_times=("start", "end", )),
    "snapshots_at": Operation("GET", "/v1/snapshots/at", given_times=("time", )),
    "predmkt_a_snapshots_at": Operation("GET", "/v1/predmkt_a/snapshots/at", given_times=("time", )),
    "predmkt_b_snapshots_at": Operation("GET", "/v1/predmkt_b/snapshots/at", given_times=("time", )),
    "perpdex_snapshots_at": Operation("GET", "/v1/perpdex/snapshots/at", given_times=("time", )),
    "trades": Operation("GET", "/v1/trades", rows_field="data", cursor_param="after", has_limit=True, times=("timestamp", ), floats=("price", "size", ), integers=(), given_times=("start", "end", )),
    "predmkt_a_trades": Operation("GET", "/v1/predmkt_a/trades", rows_field="data", cursor_param="after", has_limit=True, times=("timestamp", ), floats=("price", "size", ), integers=(), given_times=("start", "end", )),
    "perpdex_trades": Operation("GET", "/v1/perpdex/trades", rows_field="data", cursor_param="after", has_limit=True, times=("timestamp", ), floats=("price", "size", ), integers=(), given_times=("start", "end", )),
    "flow": Operation("GET", "/v1/flow", rows_field="data", cursor_param="after", has_limit=True, times=("timestamp", ), floats=("buy_volume", "sell_volume", "vwap_buy", "vwap_sell", "net_volume", "buy_ratio", ), integers=("num_buys", "num_sells", ), given_times=("start", "end", )),
    "open_interest": Operation("GET", "/v1/open-interest", rows_field="data", cursor_param="after", has_limit=True, times=("timestamp", ), floats=("open_interest", "open_interest_usd", ), integers=(), given_times=("start", "end", )),
    "perpdex_open_interest": Operation("GET", "/v1/perpdex/open-interest", rows_field="data", cursor_param="after", has_limit=True, times=("timestamp", ), floats=("open_interest", "open_interest_usd", ), integers=(), given_times=("start", "end", )),
    "liquidations": Operation("GET", "/v1/liquidations", rows_field="data", cursor_param="after", has_limit=True, times=("timestamp", ), floats=("quantity", "price", "avg_price", "usd_value", ), integers=(), given_times=("start", "end", )),
    "funding": Operation("GET", "/v1/funding", rows_field="data", cursor_param="after", has_limit=True, times=("timestamp", "next_funding_time", ), floats=("funding_rate", ), integers=(), given_times=("start", "end", )),
    "perpdex_funding": Operation("GET", "/v1/perpdex/funding", rows_field="data", cursor_param="after", has_limit=True, times=("timestamp", "next_funding_time", ), floats=("funding_rate", ), integers=(), given_times=("start", "end", )),
    "ticker": Operation("GET", "/v1/ticker", rows_field="data", cursor_param="after", has_limit=True, times=("timestamp", ), floats=("bid_price", "bid_size", "ask_price", "ask_size", ), integers=(), given_times=("start", "end", )),
    "markets": Operation("GET", "/v1/markets", rows_field="data", cursor_param="after", has_limit=True, times=("start_time", "end_time", "resolved_at", "created_at", "updated_at", ), floats=("strike", "reference_price_start", "reference_price_end", "volume", "liquidity", "open_interest", "final_volume", "final_liquidity", ), integers=()),
    "predmkt_a_markets": Operation("GET", "/v1/predmkt_a/markets", rows_field="data", cursor_param="after", has_limit=True, times=("start_time", "end_time", "resolved_at", "created_at", "updated_at", ), floats=("strike", "reference_price_start", "reference_price_end", "volume", "liquidity", "open_interest", "final_volume", "final_liquidity", ), integers=()),
    "predmkt_b": Operation("GET", "/v1/predmkt_b", rows_field="data", cursor_param="after", has_limit=True, times=("start_time", "end_time", "resolved_at", "created_at", "updated_at", ), floats=("strike", "reference_price_start", "reference_price_end", "volume", "liquidity", "open_interest", "final_volume", "final_liquidity", ), integers=()),
    "predmkt_b_markets": Operation("GET", "/v1/predmkt_b/markets", rows_field="data", cursor_param="after", has_limit=True, times=("start_time", "end_time", "resolved_at", "created_at", "updated_at", ), floats=("strike", "reference_price_start", "reference_price_end", "volume", "liquidity", "open_interest", "final_volume", "final_liquidity", ), integers=()),
    "perpdex": Operation("GET", "/v1/perpdex", rows_field="data", cursor_param="after", has_limit=True, times=("start_time", "end_time", "resolved_at", "created_at", "updated_at", ), floats=("strike", "reference_price_start", "reference_price_end", "volume", "liquidity", "open_interest", "final_volume", "final_liquidity", ), integers=()),
    "perpdex_markets": Operation("GET", "/v1/perpdex/markets", rows_field="data", cursor_param="after", has_limit=True, times=("start_time", "end_time", "resolved_at", "created_at", "updated_at", ), floats=("strike", "reference_price_start", "reference_price_end", "volume", "liquidity", "open_interest", "final_volume", "final_liquidity", ), integers=()),
    "market": Operation("GET", "/v1/markets/{identifier}"),
    "predmkt_a_market": Operation("GET", "/v1/predmkt_a/markets/{identifier}"),
    "cexa_spot": Operation("GET", "/v1/cexa/spot", rows_field="data", cursor_param=None, has_limit=False, times=("earliest_data", ), floats=(), integers=()),
    "cexa_futures": Operation("GET", "/v1/cexa/futures", rows_field="data", cursor_param=None, has_limit=False, times=("earliest_data", ), floats=(), integers=()),
    "submit_transaction": Operation("POST", "/v1/transactions/submit"),
    "transaction": Operation("GET", "/v1/transactions/{tx_id}"),
    "address_transactions": Operation("GET", "/v1/addresses/{address}/transactions", rows_field="items", cursor_param="cursor", has_limit=True, times=("block_time", ), floats=(), integers=("amount_sompi", )),
    "address_activity": Operation("GET", "/v1/addresses/{address}/activity", rows_field="items", cursor_param=None, has_limit=True, times=(), floats=(), integers=("amount", )),
    "address_balance": Operation("GET", "/v1/addresses/{address}/balance", given_times=("at", )),
    "address_utxos": Operation("GET", "/v1/addresses/{address}/utxos", rows_field="items", cursor_param="cursor", has_limit=True, times=(), floats=(), integers=("index", "amount_sompi", "block_daa_score", )),
    "address_covenants": Operation("GET", "/v1/addresses/{address}/covenants", rows_field="items", cursor_param="cursor", has_limit=True, times=("block_time", ), floats=(), integers=("index", "amount_sompi", )),
    "covenant": Operation("GET", "/v1/covenants/{covenant_id}", rows_field="items", cursor_param="cursor", has_limit=True, times=("block_time", ), floats=(), integers=()),
    "covenant_utxos": Operation("GET", "/v1/covenants/{covenant_id}/utxos", rows_field="items", cursor_param="cursor", has_limit=True, times=("block_time", ), floats=(), integers=("index", "amount_sompi", )),
    "tokens": Operation("GET", "/v1/tokens", rows_field="items", cursor_param="cursor", has_limit=True, times=("first_seen", ), floats=(), integers=("decimals", "holders", "outputs", "operations", )),
    "token": Operation("GET", "/v1/tokens/{token}"),
    "token_holders": Operation("GET", "/v1/tokens/{token}/holders", rows_field="items", cursor_param="cursor", has_limit=True, times=(), floats=(), integers=("outputs", )),
    "fees_estimate": Operation("GET", "/v1/fees/estimate"),
    "rpc": Operation("POST", "/rpc"),
    "webhooks": Operation("GET", "/v1/webhooks", rows_field="webhooks", cursor_param="cursor", has_limit=True, times=("created_at", "disabled_at", "failing_since", "last_success_at", ), floats=(), integers=()),
    "create_webhook": Operation("POST", "/v1/webhooks"),
    "webhook": Operation("GET", "/v1/webhooks/{id}"),
    "update_webhook": Operation("PATCH", "/v1/webhooks/{id}"),
    "delete_webhook": Operation("DELETE", "/v1/webhooks/{id}"),
    "webhook_deliveries": Operation("GET", "/v1/webhooks/{id}/deliveries", rows_field="deliveries", cursor_param="cursor", has_limit=True, times=("last_attempt_at", "next_attempt_at", "created_at", ), floats=(), integers=("seq", "attempts", "last_status", "duration_ms", )),
    "test_webhook": Operation("POST", "/v1/webhooks/{id}/test"),
    "rotate_webhook": Operation("POST", "/v1/webhooks/{id}/rotate"),
    "replay_webhook": Operation("POST", "/v1/webhooks/{id}/replay", given_times=("since", "until", )),
    "limits": Operation("GET", "/v1/limits"),
    "status": Operation("GET", "/v1/status"),
    "health": Operation("GET", "/v1/health"),
    "ready": Operation("GET", "/ready"),
    "openapi_json": Operation("GET", "/openapi.json"),
    "asyncapi_json": Operation("GET", "/asyncapi.json"),
}


class Methods:
    """A method for every endpoint."""

    def _rows(self, operation: Operation, params: Mapping[str, Any]) -> Rows[Any, Any]:
        raise NotImplementedError

    def _answer(self, operation: Operation, params: Mapping[str, Any], body: Any = None) -> Any:
        raise NotImplementedError

    def sources(self) -> Sources:
        """Catalog of sources and their endpoints. The same for every plan; each endpoint record carries its `min_tier`. Credits: 25 flat. Open from the free plan on. `GET /v1/sources`"""
        return self._answer(OPERATIONS["sources"], {})

    def symbols(self) -> Symbols:
        """Symbols and what covers them. Credits: 0 flat. Open from the free plan on. `GET /v1/symbols`"""
        return self._answer(OPERATIONS["symbols"], {})

    def candles(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, interval: Optional[Literal["1s", "1m", "5m", "15m", "1h", "4h", "1d", "24h"]] = None, source: Optional[Literal["cexa", "cexa_spot", "cexa_futures", "perpdex", "predmkt_a", "predmkt_b", "oracle"]] = None, market_id: Optional[str] = None, token_id: Optional[str] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> Rows[Candle, ListMeta]:
        """
        Candles (OHLCV). The current bar is served with `closed: false`. Rows come in time order when `start` is given, newest first otherwise. `oracle` has 5m and 15m only and no volume; prediction-market prices are probabilities. Credits: 50 plus 3 per row. Open from the free plan on. `GET /v1/candles`

        symbol: Asset symbol, in any case.
        interval: Length of a bar.
        source: Venue that the rows come from.
        market_id: One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere.
        token_id: One leg of a market: its order-book token id (`predmkt_a`). Only for predmkt_a; ignored elsewhere.
        start: First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end: Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Row order. Left out: chronological when `start` is given, newest first otherwise.
        """
        return self._rows(OPERATIONS["candles"], {"symbol": symbol, "interval": interval, "source": source, "market_id": market_id, "token_id": token_id, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def predmkt_a_candles(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, interval: Optional[Literal["5m", "15m", "1h", "4h", "1d", "24h"]] = None, market_id: Optional[str] = None, token_id: Optional[str] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None, condition_id: Optional[str] = None) -> Rows[Candle, ListMeta]:
        """
        Candles of prediction market A. Credits: 50 plus 3 per row. Open from the free plan on. Another path to `GET /v1/candles` with source=predmkt_a. `GET /v1/predmkt_a/candles`

        symbol: Asset symbol, in any case.
        interval: Length of a bar.
        market_id: One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere.
        token_id: One leg of a market: its order-book token id (`predmkt_a`). Only for predmkt_a; ignored elsewhere.
        start: First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end: Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Row order. Left out: chronological when `start` is given, newest first otherwise.
        condition_id: Another name of `market_id`. One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`).
        """
        return self._rows(OPERATIONS["predmkt_a_candles"], {"symbol": symbol, "interval": interval, "market_id": market_id, "token_id": token_id, "start": start, "end": end, "limit": limit, "after": after, "order": order, "condition_id": condition_id})

    def predmkt_b_by_symbol(self, symbol: str, *, interval: Optional[Literal["5m", "15m", "1h", "4h", "1d", "24h"]] = None, market_id: Optional[str] = None, token_id: Optional[str] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None, start_time: Optional[Time] = None, end_time: Optional[Time] = None, offset: Optional[int] = None, include_orderbook: Optional[bool] = None) -> Rows[Candle, ListMeta]:
        """
        Probability and price history of prediction market B. Credits: 50 plus 3 per row. Open from the free plan on. Another path to `GET /v1/candles` with source=predmkt_b. `GET /v1/predmkt_b/{symbol}`

        symbol: Asset symbol in any case, or a market id, condition id, slug, ticker or token id.
        interval: Length of a bar.
        market_id: One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere.
        token_id: One leg of a market: its order-book token id (`predmkt_a`). Only for predmkt_a; ignored elsewhere.
        start: First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end: Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Row order. Left out: chronological when `start` is given, newest first otherwise.
        start_time: Another name of `start`. First instant, inclusive. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end_time: Another name of `end`. Last instant, exclusive. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        offset: Pages are asked for by `after`. Accepted and ignored.
        include_orderbook: Candles have no order book: it is on the snapshots of the venue. Accepted and ignored.
        """
        return self._rows(OPERATIONS["predmkt_b_by_symbol"], {"symbol": symbol, "interval": interval, "market_id": market_id, "token_id": token_id, "start": start, "end": end, "limit": limit, "after": after, "order": order, "start_time": start_time, "end_time": end_time, "offset": offset, "include_orderbook": include_orderbook})

    def perpdex_by_symbol(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, interval: Optional[Literal["1s", "1m", "5m", "15m", "1h", "4h", "1d", "24h"]] = None, market_id: Optional[str] = None, token_id: Optional[str] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None, start_time: Optional[Time] = None, end_time: Optional[Time] = None, offset: Optional[int] = None, include_orderbook: Optional[bool] = None) -> Rows[Candle, ListMeta]:
        """
        Candles of a perpetual. Credits: 50 plus 3 per row. Open from the free plan on. Another path to `GET /v1/candles` with source=perpdex. `GET /v1/perpdex/{symbol}`

        symbol: Asset symbol, in any case.
        interval: Length of a bar.
        market_id: One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere.
        token_id: One leg of a market: its order-book token id (`predmkt_a`). Only for predmkt_a; ignored elsewhere.
        start: First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end: Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Row order. Left out: chronological when `start` is given, newest first otherwise.
        start_time: Another name of `start`. First instant, inclusive. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end_time: Another name of `end`. Last instant, exclusive. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        offset: Pages are asked for by `after`. Accepted and ignored.
        include_orderbook: Candles have no order book: it is on the snapshots of the venue. Accepted and ignored.
        """
        return self._rows(OPERATIONS["perpdex_by_symbol"], {"symbol": symbol, "interval": interval, "market_id": market_id, "token_id": token_id, "start": start, "end": end, "limit": limit, "after": after, "order": order, "start_time": start_time, "end_time": end_time, "offset": offset, "include_orderbook": include_orderbook})

    def snapshots(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, source: Literal["predmkt_a", "predmkt_b", "perpdex", "cexa"], market_id: Optional[str] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, include_orderbook: Optional[bool] = None, include_diffs: Optional[bool] = None, depth: Optional[int] = None, interval: Optional[Literal["500ms", "1s", "5m", "15m", "1h", "4h", "24h"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> Rows[Snapshot, ListMeta]:
        """
        Order-book snapshots. Samples on a 500 ms grid. `interval` picks the last sample of each step. The books of prediction markets come with `include_orderbook`; `perpdex` rows always carry their levels. Credits: 50 plus 4 per row; 50 plus 10 per row with include_orderbook on predmkt_a. Open from the free plan on. `GET /v1/snapshots`

        symbol: Asset symbol, in any case.
        source: Venue that the rows come from.
        market_id: One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere.
        market_type: Duration of the contract. Only for predmkt_a, predmkt_b; ignored elsewhere.
        include_orderbook: Adds both books of each market: every level of `predmkt_b`, up to `depth` of `predmkt_a`. Only for predmkt_a, predmkt_b; ignored elsewhere.
        include_diffs: Adds what changed in the first book since the row before. `predmkt_b`, and `/v1/predmkt_a/orderbook`. Only for predmkt_a, predmkt_b; ignored elsewhere.
        depth: Levels per side of the books of `predmkt_a`. Only for predmkt_a; ignored elsewhere.
        interval: Sampling step; left out: every stored sample.
        start: First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end: Last instant, inclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Row order. Left out: chronological when `start` is given, newest first otherwise.
        """
        return self._rows(OPERATIONS["snapshots"], {"source": source, "symbol": symbol, "market_id": market_id, "market_type": market_type, "include_orderbook": include_orderbook, "include_diffs": include_diffs, "depth": depth, "interval": interval, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def predmkt_a_snapshots(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, market_id: Optional[str] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, include_orderbook: Optional[bool] = None, include_diffs: Optional[bool] = None, depth: Optional[int] = None, interval: Optional[Literal["500ms", "1s", "5m", "15m", "1h", "4h", "24h"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None, condition_id: Optional[str] = None) -> Rows[Snapshot, ListMeta]:
        """
        Up/Down book snapshots. Credits: 50 plus 4 per row; 50 plus 10 per row with include_orderbook on predmkt_a. Open from the free plan on. Another path to `GET /v1/snapshots` with source=predmkt_a. `GET /v1/predmkt_a/snapshots`

        symbol: Asset symbol, in any case.
        market_id: One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere.
        market_type: Duration of the contract. Only for predmkt_a, predmkt_b; ignored elsewhere.
        include_orderbook: Adds both books of each market: every level of `predmkt_b`, up to `depth` of `predmkt_a`. Only for predmkt_a, predmkt_b; ignored elsewhere.
        include_diffs: Adds what changed in the first book since the row before. `predmkt_b`, and `/v1/predmkt_a/orderbook`. Only for predmkt_a, predmkt_b; ignored elsewhere.
        depth: Levels per side of the books of `predmkt_a`. Only for predmkt_a; ignored elsewhere.
        interval: Sampling step; left out: every stored sample.
        start: First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end: Last instant, inclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Row order. Left out: chronological when `start` is given, newest first otherwise.
        condition_id: Another name of `market_id`. One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`).
        """
        return self._rows(OPERATIONS["predmkt_a_snapshots"], {"symbol": symbol, "market_id": market_id, "market_type": market_type, "include_orderbook": include_orderbook, "include_diffs": include_diffs, "depth": depth, "interval": interval, "start": start, "end": end, "limit": limit, "after": after, "order": order, "condition_id": condition_id})

    def predmkt_a_orderbook(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, market_id: Optional[str] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, include_diffs: Optional[bool] = None, depth: Optional[int] = None, interval: Optional[Literal["500ms", "1s", "5m", "15m", "1h", "4h", "24h"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None, condition_id: Optional[str] = None) -> Rows[Snapshot, ListMeta]:
        """
        Order-book history of prediction market A. Credits: 50 plus 10 per row. Open from the free plan on. Another path to `GET /v1/snapshots` with source=predmkt_a, include_orderbook=true. `GET /v1/predmkt_a/orderbook`

        symbol: Asset symbol, in any case.
        market_id: One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere.
        market_type: Duration of the contract. Only for predmkt_a, predmkt_b; ignored elsewhere.
        include_diffs: Adds what changed in the first book since the row before. `predmkt_b`, and `/v1/predmkt_a/orderbook`. Only for predmkt_a, predmkt_b; ignored elsewhere.
        depth: Levels per side of the books of `predmkt_a`. Only for predmkt_a; ignored elsewhere.
        interval: Sampling step; left out: every stored sample.
        start: First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end: Last instant, inclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Row order. Left out: chronological when `start` is given, newest first otherwise.
        condition_id: Another name of `market_id`. One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`).
        """
        return self._rows(OPERATIONS["predmkt_a_orderbook"], {"symbol": symbol, "market_id": market_id, "market_type": market_type, "include_diffs": include_diffs, "depth": depth, "interval": interval, "start": start, "end": end, "limit": limit, "after": after, "order": order, "condition_id": condition_id})

    def predmkt_b_snapshots(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, market_id: Optional[str] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, include_orderbook: Optional[bool] = None, include_diffs: Optional[bool] = None, depth: Optional[int] = None, interval: Optional[Literal["500ms", "1s", "5m", "15m", "1h", "4h", "24h"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None, series: Optional[Literal["15m", "hourly", "daily"]] = None) -> Rows[Snapshot, ListMeta]:
        """
        Yes/No book snapshots. Credits: 50 plus 4 per row. Open from the free plan on. Another path to `GET /v1/snapshots` with source=predmkt_b. `GET /v1/predmkt_b/snapshots`

        symbol: Asset symbol, in any case.
        market_id: One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere.
        market_type: Duration of the contract. Only for predmkt_a, predmkt_b; ignored elsewhere.
        include_orderbook: Adds both books of each market: every level of `predmkt_b`, up to `depth` of `predmkt_a`. Only for predmkt_a, predmkt_b; ignored elsewhere.
        include_diffs: Adds what changed in the first book since the row before. `predmkt_b`, and `/v1/predmkt_a/orderbook`. Only for predmkt_a, predmkt_b; ignored elsewhere.
        depth: Levels per side of the books of `predmkt_a`. Only for predmkt_a; ignored elsewhere.
        interval: Sampling step; left out: every stored sample.
        start: First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end: Last instant, inclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Row order. Left out: chronological when `start` is given, newest first otherwise.
        series: Another name of `market_type`. Series of the contract.
        """
        return self._rows(OPERATIONS["predmkt_b_snapshots"], {"symbol": symbol, "market_id": market_id, "market_type": market_type, "include_orderbook": include_orderbook, "include_diffs": include_diffs, "depth": depth, "interval": interval, "start": start, "end": end, "limit": limit, "after": after, "order": order, "series": series})

    def predmkt_b_orderbook(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, market_id: Optional[str] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, include_diffs: Optional[bool] = None, depth: Optional[int] = None, interval: Optional[Literal["500ms", "1s", "5m", "15m", "1h", "4h", "24h"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None, series: Optional[Literal["15m", "hourly", "daily"]] = None) -> Rows[Snapshot, ListMeta]:
        """
        Order-book history of prediction market B. Credits: 50 plus 4 per row. Open from the free plan on. Another path to `GET /v1/snapshots` with source=predmkt_b, include_orderbook=true. `GET /v1/predmkt_b/orderbook`

        symbol: Asset symbol, in any case.
        market_id: One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere.
        market_type: Duration of the contract. Only for predmkt_a, predmkt_b; ignored elsewhere.
        include_diffs: Adds what changed in the first book since the row before. `predmkt_b`, and `/v1/predmkt_a/orderbook`. Only for predmkt_a, predmkt_b; ignored elsewhere.
        depth: Levels per side of the books of `predmkt_a`. Only for predmkt_a; ignored elsewhere.
        interval: Sampling step; left out: every stored sample.
        start: First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end: Last instant, inclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Row order. Left out: chronological when `start` is given, newest first otherwise.
        series: Another name of `market_type`. Series of the contract.
        """
        return self._rows(OPERATIONS["predmkt_b_orderbook"], {"symbol": symbol, "market_id": market_id, "market_type": market_type, "include_diffs": include_diffs, "depth": depth, "interval": interval, "start": start, "end": end, "limit": limit, "after": after, "order": order, "series": series})

    def perpdex_snapshots(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, market_id: Optional[str] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, include_orderbook: Optional[bool] = None, include_diffs: Optional[bool] = None, depth: Optional[int] = None, interval: Optional[Literal["500ms", "1s", "5m", "15m", "1h", "4h", "24h"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> Rows[Snapshot, ListMeta]:
        """
        L2 book snapshots of perpetuals. Credits: 50 plus 4 per row. Open from the free plan on. Another path to `GET /v1/snapshots` with source=perpdex. `GET /v1/perpdex/snapshots`

        symbol: Asset symbol, in any case.
        market_id: One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere.
        market_type: Duration of the contract. Only for predmkt_a, predmkt_b; ignored elsewhere.
        include_orderbook: Adds both books of each market: every level of `predmkt_b`, up to `depth` of `predmkt_a`. Only for predmkt_a, predmkt_b; ignored elsewhere.
        include_diffs: Adds what changed in the first book since the row before. `predmkt_b`, and `/v1/predmkt_a/orderbook`. Only for predmkt_a, predmkt_b; ignored elsewhere.
        depth: Levels per side of the books of `predmkt_a`. Only for predmkt_a; ignored elsewhere.
        interval: Sampling step; left out: every stored sample.
        start: First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end: Last instant, inclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Row order. Left out: chronological when `start` is given, newest first otherwise.
        """
        return self._rows(OPERATIONS["perpdex_snapshots"], {"symbol": symbol, "market_id": market_id, "market_type": market_type, "include_orderbook": include_orderbook, "include_diffs": include_diffs, "depth": depth, "interval": interval, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def snapshots_at(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, source: Literal["predmkt_a", "predmkt_b", "perpdex", "cexa"], time: Optional[Time] = None, interval: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, market_id: Optional[str] = None, include_orderbook: Optional[bool] = None) -> SnapshotAt:
        """
        The snapshot at or before a time. Without `market_id` a prediction market answers with the market whose window holds the time, shortest duration first, or the newest of a duration with `interval` in place of `time`. `data` is null when there is none at or before the time; `meta.reason` says why. Credits: 50 flat. Open from the free plan on. `GET /v1/snapshots/at`

        symbol: Asset symbol, in any case.
        source: Venue that the rows come from.
        time: The instant. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. Needed unless `interval` is given.
        interval: Duration of the contract; without `time` its newest snapshot. Only for predmkt_a, predmkt_b; ignored elsewhere.
        market_id: One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere.
        include_orderbook: Adds both books of the market, with every level. Only for predmkt_a, predmkt_b; ignored elsewhere.
        """
        return self._answer(OPERATIONS["snapshots_at"], {"source": source, "symbol": symbol, "time": time, "interval": interval, "market_id": market_id, "include_orderbook": include_orderbook})

    def predmkt_a_snapshots_at(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, time: Optional[Time] = None, interval: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, market_id: Optional[str] = None, include_orderbook: Optional[bool] = None, condition_id: Optional[str] = None) -> SnapshotAt:
        """
        Up/Down snapshot at or before a time. Credits: 50 flat. Open from the free plan on. Another path to `GET /v1/snapshots/at` with source=predmkt_a. `GET /v1/predmkt_a/snapshots/at`

        symbol: Asset symbol, in any case.
        time: The instant. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. Needed unless `interval` is given.
        interval: Duration of the contract; without `time` its newest snapshot. Only for predmkt_a, predmkt_b; ignored elsewhere.
        market_id: One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere.
        include_orderbook: Adds both books of the market, with every level. Only for predmkt_a, predmkt_b; ignored elsewhere.
        condition_id: Another name of `market_id`. One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`).
        """
        return self._answer(OPERATIONS["predmkt_a_snapshots_at"], {"symbol": symbol, "time": time, "interval": interval, "market_id": market_id, "include_orderbook": include_orderbook, "condition_id": condition_id})

    def predmkt_b_snapshots_at(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, time: Optional[Time] = None, interval: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, market_id: Optional[str] = None, include_orderbook: Optional[bool] = None) -> SnapshotAt:
        """
        Yes/No snapshot at or before a time. Credits: 50 flat. Open from the free plan on. Another path to `GET /v1/snapshots/at` with source=predmkt_b. `GET /v1/predmkt_b/snapshots/at`

        symbol: Asset symbol, in any case.
        time: The instant. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. Needed unless `interval` is given.
        interval: Duration of the contract; without `time` its newest snapshot. Only for predmkt_a, predmkt_b; ignored elsewhere.
        market_id: One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere.
        include_orderbook: Adds both books of the market, with every level. Only for predmkt_a, predmkt_b; ignored elsewhere.
        """
        return self._answer(OPERATIONS["predmkt_b_snapshots_at"], {"symbol": symbol, "time": time, "interval": interval, "market_id": market_id, "include_orderbook": include_orderbook})

    def perpdex_snapshots_at(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, time: Optional[Time] = None, interval: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, market_id: Optional[str] = None, include_orderbook: Optional[bool] = None) -> SnapshotAt:
        """
        L2 snapshot at or before a time. Credits: 50 flat. Open from the free plan on. Another path to `GET /v1/snapshots/at` with source=perpdex. `GET /v1/perpdex/snapshots/at`

        symbol: Asset symbol, in any case.
        time: The instant. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds. Needed unless `interval` is given.
        interval: Duration of the contract; without `time` its newest snapshot. Only for predmkt_a, predmkt_b; ignored elsewhere.
        market_id: One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere.
        include_orderbook: Adds both books of the market, with every level. Only for predmkt_a, predmkt_b; ignored elsewhere.
        """
        return self._answer(OPERATIONS["perpdex_snapshots_at"], {"symbol": symbol, "time": time, "interval": interval, "market_id": market_id, "include_orderbook": include_orderbook})

    def trades(self, symbol: str, *, source: Optional[Literal["predmkt_a", "predmkt_b", "perpdex"]] = None, market_id: Optional[str] = None, token_id: Optional[str] = None, side: Optional[Literal["buy", "sell", "all"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> Rows[Trade, ListMeta]:
        """
        Trade ticks. Single trades. Spot exchange trades are on `/v1/flow` as buckets. Credits: 50 plus 2 per row. Open from the free plan on. `GET /v1/trades`

        symbol: Asset symbol in any case, or a market id, condition id, slug, ticker or token id.
        source: Venue that the rows come from.
        market_id: One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere.
        token_id: One leg of a market: its order-book token id (`predmkt_a`). Only for predmkt_a; ignored elsewhere.
        side: Side of the aggressor. Left out: all.
        start: First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end: Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Row order. Left out: chronological when `start` is given, newest first otherwise.
        """
        return self._rows(OPERATIONS["trades"], {"symbol": symbol, "source": source, "market_id": market_id, "token_id": token_id, "side": side, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def predmkt_a_trades(self, symbol: str, *, market_id: Optional[str] = None, token_id: Optional[str] = None, side: Optional[Literal["buy", "sell", "all"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None, condition_id: Optional[str] = None) -> Rows[Trade, ListMeta]:
        """
        Trade ticks of prediction market A. Credits: 50 plus 2 per row. Open from the free plan on. Another path to `GET /v1/trades` with source=predmkt_a. `GET /v1/predmkt_a/trades`

        symbol: Asset symbol in any case, or a market id, condition id, slug, ticker or token id.
        market_id: One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere.
        token_id: One leg of a market: its order-book token id (`predmkt_a`). Only for predmkt_a; ignored elsewhere.
        side: Side of the aggressor. Left out: all.
        start: First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end: Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Row order. Left out: chronological when `start` is given, newest first otherwise.
        condition_id: Another name of `market_id`. One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`).
        """
        return self._rows(OPERATIONS["predmkt_a_trades"], {"symbol": symbol, "market_id": market_id, "token_id": token_id, "side": side, "start": start, "end": end, "limit": limit, "after": after, "order": order, "condition_id": condition_id})

    def perpdex_trades(self, symbol: str, *, market_id: Optional[str] = None, token_id: Optional[str] = None, side: Optional[Literal["buy", "sell", "all"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> Rows[Trade, ListMeta]:
        """
        Trade ticks of perpetuals. Credits: 50 plus 2 per row. Open from the free plan on. Another path to `GET /v1/trades` with source=perpdex. `GET /v1/perpdex/trades`

        symbol: Asset symbol in any case, or a market id, condition id, slug, ticker or token id.
        market_id: One market: condition id, number or slug (`predmkt_a`), or ticker (`predmkt_b`). Only for predmkt_a, predmkt_b; ignored elsewhere.
        token_id: One leg of a market: its order-book token id (`predmkt_a`). Only for predmkt_a; ignored elsewhere.
        side: Side of the aggressor. Left out: all.
        start: First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end: Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Row order. Left out: chronological when `start` is given, newest first otherwise.
        """
        return self._rows(OPERATIONS["perpdex_trades"], {"symbol": symbol, "market_id": market_id, "token_id": token_id, "side": side, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def flow(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, interval: Literal["5m", "15m", "1h", "4h", "24h"], start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> Rows[Flow, ListMeta]:
        """
        Buy and sell pressure of the spot exchange. Buckets of aggregate trades. Counts are null in bars that were rebuilt without aggregate trades. Credits: 50 plus 3 per row. Open from the free plan on. `GET /v1/flow`

        symbol: Asset symbol, in any case.
        interval: Length of a bucket.
        start: First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end: Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Row order. Left out: chronological when `start` is given, newest first otherwise.
        """
        return self._rows(OPERATIONS["flow"], {"symbol": symbol, "interval": interval, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def open_interest(self, symbol: str, *, source: Optional[Literal["cexa_futures", "perpdex", "predmkt_b"]] = None, interval: Optional[Literal["5m", "15m", "1h", "4h", "1d", "24h"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> Rows[OpenInterest, ListMeta]:
        """
        Open interest. For `predmkt_b` a symbol gives the sum over its markets; a ticker in place of the symbol gives one market. Credits: 50 plus 3 per row. Open from the free plan on. `GET /v1/open-interest`

        symbol: Asset symbol in any case, or the ticker or slug of a `predmkt_b` market.
        source: Venue that the rows come from.
        interval: Distance of the observations.
        start: First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end: Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Row order. Left out: chronological when `start` is given, newest first otherwise.
        """
        return self._rows(OPERATIONS["open_interest"], {"symbol": symbol, "source": source, "interval": interval, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def perpdex_open_interest(self, symbol: str, *, interval: Optional[Literal["5m", "15m", "1h", "4h", "1d", "24h"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> Rows[OpenInterest, ListMeta]:
        """
        Open interest of perpetuals. Credits: 50 plus 3 per row. Open from the free plan on. Another path to `GET /v1/open-interest` with source=perpdex. `GET /v1/perpdex/open-interest`

        symbol: Asset symbol in any case, or the ticker or slug of a `predmkt_b` market.
        interval: Distance of the observations.
        start: First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end: Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Row order. Left out: chronological when `start` is given, newest first otherwise.
        """
        return self._rows(OPERATIONS["perpdex_open_interest"], {"symbol": symbol, "interval": interval, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def liquidations(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, start: Optional[Time] = None, end: Optional[Time] = None, side: Optional[Literal["long", "short", "all"]] = None, min_usd: Optional[float] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> Rows[Liquidation, ListMeta]:
        """
        Liquidations of the futures exchange. A sample: the venue publishes at most one liquidation per symbol and second. Kept for 90 days. Credits: 25 plus 2 per row. Open from the free plan on. `GET /v1/liquidations`

        symbol: Asset symbol, in any case.
        start: First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end: Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        side: Side that was liquidated.
        min_usd: Least value in US dollars. Needs the business plan.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Row order. Left out: chronological when `start` is given, newest first otherwise.
        """
        return self._rows(OPERATIONS["liquidations"], {"symbol": symbol, "start": start, "end": end, "side": side, "min_usd": min_usd, "limit": limit, "after": after, "order": order})

    def funding(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, source: Optional[Literal["cexa_futures", "perpdex"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> Rows[Funding, ListMeta]:
        """
        Funding rates. One row per settlement: every 8 hours on the futures exchange, hourly on `perpdex`. Without a source both are interleaved in time. Credits: 50 plus 3 per row. Open from the free plan on. `GET /v1/funding`

        symbol: Asset symbol, in any case.
        source: Venue that the rows come from.
        start: First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end: Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Row order. Left out: chronological when `start` is given, newest first otherwise.
        """
        return self._rows(OPERATIONS["funding"], {"symbol": symbol, "source": source, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def perpdex_funding(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> Rows[Funding, ListMeta]:
        """
        Funding rates of perpetuals. Credits: 50 plus 3 per row. Open from the free plan on. Another path to `GET /v1/funding` with source=perpdex. `GET /v1/perpdex/funding`

        symbol: Asset symbol, in any case.
        start: First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end: Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Row order. Left out: chronological when `start` is given, newest first otherwise.
        """
        return self._rows(OPERATIONS["perpdex_funding"], {"symbol": symbol, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def ticker(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, source: Optional[Literal["cexa", "cexa_futures"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> Rows[Ticker, ListMeta]:
        """
        Best bid and ask, one row per second. Credits: 50 plus 5 per row. Open from the developer plan (tier pro) on. `GET /v1/ticker`

        symbol: Asset symbol, in any case.
        source: Venue that the rows come from.
        start: First instant, inclusive. Left out: the start of the plan's window. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        end: Last instant, exclusive. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Row order. Left out: chronological when `start` is given, newest first otherwise.
        """
        return self._rows(OPERATIONS["ticker"], {"symbol": symbol, "source": source, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def markets(self, *, source: Optional[Literal["predmkt_a", "predmkt_b", "perpdex"]] = None, symbol: Optional[Literal["BTC", "ETH", "SOL", "XRP"]] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, active: Optional[bool] = None, status: Optional[Literal["upcoming", "open", "closed", "resolved"]] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> Rows[Market, ListMeta]:
        """
        Markets and their identifiers. Latest end first, perpetuals before all; with `order=asc` the soonest end first. `active` and `status` left out list all. Credits: 25 flat. Open from the free plan on. `GET /v1/markets`

        source: Venue that the rows come from.
        symbol: Asset symbol, in any case.
        market_type: Duration of the contract.
        active: Only markets that have not ended (true), or that have ended or are resolved (false).
        status: Only markets in this state.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Order by end. Left out: latest first.
        """
        return self._rows(OPERATIONS["markets"], {"source": source, "symbol": symbol, "market_type": market_type, "active": active, "status": status, "limit": limit, "after": after, "order": order})

    def predmkt_a_markets(self, *, symbol: Optional[Literal["BTC", "ETH", "SOL", "XRP"]] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, active: Optional[bool] = None, status: Optional[Literal["upcoming", "open", "closed", "resolved"]] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> Rows[Market, ListMeta]:
        """
        Markets of prediction market A. Credits: 25 flat. Open from the free plan on. Another path to `GET /v1/markets` with source=predmkt_a. `GET /v1/predmkt_a/markets`

        symbol: Asset symbol, in any case.
        market_type: Duration of the contract.
        active: Only markets that have not ended (true), or that have ended or are resolved (false).
        status: Only markets in this state.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Order by end. Left out: latest first.
        """
        return self._rows(OPERATIONS["predmkt_a_markets"], {"symbol": symbol, "market_type": market_type, "active": active, "status": status, "limit": limit, "after": after, "order": order})

    def predmkt_b(self, *, symbol: Optional[Literal["BTC", "ETH", "SOL", "XRP"]] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, status: Optional[Literal["upcoming", "open", "closed", "resolved"]] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> Rows[Market, ListMeta]:
        """
        Active markets of prediction market B. Credits: 25 flat. Open from the free plan on. Another path to `GET /v1/markets` with source=predmkt_b, active=true. `GET /v1/predmkt_b`

        symbol: Asset symbol, in any case.
        market_type: Duration of the contract.
        status: Only markets in this state.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Order by end. Left out: latest first.
        """
        return self._rows(OPERATIONS["predmkt_b"], {"symbol": symbol, "market_type": market_type, "status": status, "limit": limit, "after": after, "order": order})

    def predmkt_b_markets(self, *, symbol: Optional[Literal["BTC", "ETH", "SOL", "XRP"]] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, status: Optional[Literal["upcoming", "open", "closed", "resolved"]] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> Rows[Market, ListMeta]:
        """
        Active markets of prediction market B. Credits: 25 flat. Open from the free plan on. Another path to `GET /v1/markets` with source=predmkt_b, active=true. `GET /v1/predmkt_b/markets`

        symbol: Asset symbol, in any case.
        market_type: Duration of the contract.
        status: Only markets in this state.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Order by end. Left out: latest first.
        """
        return self._rows(OPERATIONS["predmkt_b_markets"], {"symbol": symbol, "market_type": market_type, "status": status, "limit": limit, "after": after, "order": order})

    def perpdex(self, *, symbol: Optional[Literal["BTC", "ETH", "SOL", "XRP"]] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, active: Optional[bool] = None, status: Optional[Literal["upcoming", "open", "closed", "resolved"]] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> Rows[Market, ListMeta]:
        """
        Perpetual markets. Credits: 25 flat. Open from the free plan on. Another path to `GET /v1/markets` with source=perpdex. `GET /v1/perpdex`

        symbol: Asset symbol, in any case.
        market_type: Duration of the contract.
        active: Only markets that have not ended (true), or that have ended or are resolved (false).
        status: Only markets in this state.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Order by end. Left out: latest first.
        """
        return self._rows(OPERATIONS["perpdex"], {"symbol": symbol, "market_type": market_type, "active": active, "status": status, "limit": limit, "after": after, "order": order})

    def perpdex_markets(self, *, symbol: Optional[Literal["BTC", "ETH", "SOL", "XRP"]] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, active: Optional[bool] = None, status: Optional[Literal["upcoming", "open", "closed", "resolved"]] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> Rows[Market, ListMeta]:
        """
        Perpetual markets. Credits: 25 flat. Open from the free plan on. Another path to `GET /v1/markets` with source=perpdex. `GET /v1/perpdex/markets`

        symbol: Asset symbol, in any case.
        market_type: Duration of the contract.
        active: Only markets that have not ended (true), or that have ended or are resolved (false).
        status: Only markets in this state.
        limit: Rows per page. The plan's row cap may cut it.
        after: Cursor from `meta.next_cursor` of the page before.
        order: Order by end. Left out: latest first.
        """
        return self._rows(OPERATIONS["perpdex_markets"], {"symbol": symbol, "market_type": market_type, "active": active, "status": status, "limit": limit, "after": after, "order": order})

    def market(self, identifier: str, *, source: Optional[Literal["predmkt_a", "predmkt_b", "perpdex"]] = None) -> MarketRecord:
        """
        One market by any of its identifiers. Credits: 25 flat. Open from the free plan on. `GET /v1/markets/{identifier}`

        identifier: Market id, condition id, slug, ticker or token id.
        source: Venue that the rows come from.
        """
        return self._answer(OPERATIONS["market"], {"identifier": identifier, "source": source})

    def predmkt_a_market(self, identifier: str) -> MarketRecord:
        """
        One market of prediction market A. Credits: 25 flat. Open from the free plan on. Another path to `GET /v1/markets/{identifier}` with source=predmkt_a. `GET /v1/predmkt_a/markets/{identifier}`

        identifier: Market id, condition id, slug, ticker or token id.
        """
        return self._answer(OPERATIONS["predmkt_a_market"], {"identifier": identifier})

    def cexa_spot(self) -> Rows[ExchangePair, ListMeta]:
        """Symbols of spot exchange A. Their rows are on the endpoints with `source=cexa`. Credits: 25 flat. Open from the free plan on. `GET /v1/cexa/spot`"""
        return self._rows(OPERATIONS["cexa_spot"], {})

    def cexa_futures(self) -> Rows[ExchangePair, ListMeta]:
        """Symbols of futures exchange A. Their rows are on the endpoints with `source=cexa_futures`. Credits: 25 flat. Open from the free plan on. `GET /v1/cexa/futures`"""
        return self._rows(OPERATIONS["cexa_futures"], {})

    def submit_transaction(self, *, transaction: SubmitRequestTransaction, allow_orphan: Optional[bool] = None, replace_by_fee: Optional[bool] = None, wait_for_mempool: Optional[bool] = None, wait_timeout_seconds: Optional[float] = None) -> SubmitResult:
        """
        Submit a signed transaction. Hands the transaction to a node and to another one where the first does not answer. "Already in the mempool" and "already accepted" are success, so sending the same transaction again does no harm. A refusal is 422 `transaction_rejected`, with `reason` and what the node said about it (`required_fee_sompi`, `other_tx_id`, `mass_limit` …). When a node that did not answer may have taken it, the error has `in_doubt: true` and `tx_id`. Credits: 10 plus 5 per attempt. Open from the developer plan (tier pro) on. `POST /v1/transactions/submit`

        transaction: The signed transaction, in the form that the node takes.
        allow_orphan: Take it before its parents are known. Not together with `replace_by_fee`: a replacement is never taken as an orphan.
        replace_by_fee: Replace the one transaction in the mempool that it conflicts with.
        wait_for_mempool: Answer when the network shows the transaction.
        wait_timeout_seconds: How long to wait for that.
        """
        return self._answer(OPERATIONS["submit_transaction"], {}, {"transaction": transaction, "allow_orphan": allow_orphan, "replace_by_fee": replace_by_fee, "wait_for_mempool": wait_for_mempool, "wait_timeout_seconds": wait_timeout_seconds})

    def transaction(self, tx_id: str) -> TransactionLookup:
        """
        One transaction, parsed. From the index; where it is not there, from the mempool of a node, for 5 credits more. A confirmed transaction becomes pending again when its accepting block leaves the chain, and dropped when it leaves the mempool without being accepted. What is in no mempool is unknown (404) once the index has caught up with the node that was asked; while it is more than a few seconds behind that node, that is 503 with the reason `index_behind`. Credits: 10 plus 5 per mempool lookup. Open from the developer plan (tier pro) on. `GET /v1/transactions/{tx_id}`

        tx_id: Transaction id.
        """
        return self._answer(OPERATIONS["transaction"], {"tx_id": tx_id})

    def address_transactions(self, address: str, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Rows[AddressTransaction, AddressTransactions]:
        """
        History of an address. Every transaction since the index was started, for every address, without registration. Pending transactions come first, newest first, then confirmed ones by block time and by the order in which they were accepted; a dropped one stands where it was first seen. Rows that arrive during a walk do not shift it; a transaction that is accepted during a walk moves to the place of its block, and one whose block leaves the chain back to the top. Credits: 10 plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/addresses/{address}/transactions`

        address: A Kaspa address, with its prefix.
        limit: Rows per page.
        cursor: Cursor from `next_cursor` of the page before.
        """
        return self._rows(OPERATIONS["address_transactions"], {"address": address, "limit": limit, "cursor": cursor})

    def address_activity(self, address: str, *, limit: Optional[int] = None) -> Rows[AddressActivityItem, AddressActivity]:
        """
        What an address holds and has under way now. Asked of a node: transactions in the mempool that send from or to the address, then its unspent outputs. The price is 5 for each of the two calls to the node, plus 10, plus 1 per row. Credits: 10 plus 5 per upstream call plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/addresses/{address}/activity`

        address: A Kaspa address, with its prefix.
        limit: Items at most.
        """
        return self._rows(OPERATIONS["address_activity"], {"address": address, "limit": limit})

    def address_balance(self, address: str, *, at: Optional[Time] = None) -> AddressBalance:
        """
        Balance of an address, now or at a past time. Asked of a node. A past balance is what the node says now, less what the index has recorded since: it counts the confirmed transactions whose `block_time` is `at` or earlier. A time before the index begins, or before a gap in it, is refused. It takes a second or so, since node and index are compared at one moment of the chain; it is refused with 503 where the address has new transactions all the time (`reason`: `address_busy`), or where the index has not caught up with the nodes (`index_behind`) or the nodes with the index (`nodes_behind`). The price is 10, plus 5 each for two calls to the node, also where more are made so that all comes from one moment. Credits: 10 plus 5 per upstream call. Open from the developer plan (tier pro) on. `GET /v1/addresses/{address}/balance`

        address: A Kaspa address, with its prefix.
        at: A past time. Left out: now. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        """
        return self._answer(OPERATIONS["address_balance"], {"address": address, "at": at})

    def address_utxos(self, address: str, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Rows[AddressUtxo, AddressUtxos]:
        """
        Unspent outputs of an address. Asked of a node, in the order of transaction id and index: a walk gives each output once that stays unspent meanwhile. Outputs that the mempool spends are still listed. An address with more than 100,000 of them is refused. The price is 5 for the call to the node, plus 10, plus 1 per row. Credits: 10 plus 5 per upstream call plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/addresses/{address}/utxos`

        address: A Kaspa address, with its prefix.
        limit: Rows per page.
        cursor: Cursor from `next_cursor` of the page before.
        """
        return self._rows(OPERATIONS["address_utxos"], {"address": address, "limit": limit, "cursor": cursor})

    def address_covenants(self, address: str, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Rows[AddressCovenant, AddressCovenants]:
        """
        Covenant outputs of an address. Unspent outputs of the address that are bound to a covenant, as the chain has confirmed them, from the index. Whose key may spend them is up to the covenant: an output is not a claim of ownership. Outputs from before `coverage_from` are left out. Credits: 10 plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/addresses/{address}/covenants`

        address: A Kaspa address, with its prefix.
        limit: Rows per page.
        cursor: Cursor from `next_cursor` of the page before.
        """
        return self._rows(OPERATIONS["address_covenants"], {"address": address, "limit": limit, "cursor": cursor})

    def covenant(self, covenant_id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Rows[CovenantStep, Covenant]:
        """
        A covenant and its lineage. Accepted transactions only, in the order of acceptance; one whose block leaves the chain leaves the lineage with it. What a program is follows from what a spend reveals: a form that is not known is `unknown`, and what is hidden until it is spent is null. Credits: 10 plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/covenants/{covenant_id}`

        covenant_id: Covenant id.
        limit: Steps per page.
        cursor: Cursor from `next_cursor` of the page before.
        """
        return self._rows(OPERATIONS["covenant"], {"covenant_id": covenant_id, "limit": limit, "cursor": cursor})

    def covenant_utxos(self, covenant_id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Rows[CovenantUtxo, CovenantUtxos]:
        """
        Unspent outputs of a covenant. As the chain has confirmed it, from the index. Outputs from before `coverage_from` are left out: they may have been spent where the index has a gap. Credits: 10 plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/covenants/{covenant_id}/utxos`

        covenant_id: Covenant id.
        limit: Rows per page.
        cursor: Cursor from `next_cursor` of the page before.
        """
        return self._rows(OPERATIONS["covenant_utxos"], {"covenant_id": covenant_id, "limit": limit, "cursor": cursor})

    def tokens(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Rows[Token, Tokens]:
        """
        Tokens. KRC-20 tokens and covenant tokens that the index has seen at work, as far as the chain reveals them. KRC-20 operations are judged by the rules of its reference indexer. Credits: 10 plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/tokens`

        limit: Tokens per page.
        cursor: Cursor from `next_cursor` of the page before.
        """
        return self._rows(OPERATIONS["tokens"], {"limit": limit, "cursor": cursor})

    def token(self, token: str) -> TokenDetail:
        """
        A token. As far as the chain reveals it; `history` says what its amounts rest on. Accepted transactions only: what a block that left the chain had done is undone. Credits: 10 flat. Open from the developer plan (tier pro) on. `GET /v1/tokens/{token}`

        token: Token: a KRC-20 tick, the deploying transaction of an issued KRC-20 token, or a covenant id.
        """
        return self._answer(OPERATIONS["token"], {"token": token})

    def token_holders(self, token: str, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Rows[TokenHolder, TokenHolders]:
        """
        Holders of a token. As the chain has confirmed it. Of a covenant token only states that are proven count: new states are hidden until they are spent, unless the transaction that made them shows them. A holder whose amount changes during a walk may be met twice or not at all. Credits: 10 plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/tokens/{token}/holders`

        token: Token: a KRC-20 tick, the deploying transaction of an issued KRC-20 token, or a covenant id.
        limit: Holders per page.
        cursor: Cursor from `next_cursor` of the page before.
        """
        return self._rows(OPERATIONS["token_holders"], {"token": token, "limit": limit, "cursor": cursor})

    def fees_estimate(self, *, experimental: Optional[bool] = None) -> FeeEstimate:
        """
        Fee rates by urgency. Credits: 1 flat. Open from the free plan on. `GET /v1/fees/estimate`

        experimental: Use the experimental estimator of the node.
        """
        return self._answer(OPERATIONS["fees_estimate"], {"experimental": experimental})

    def rpc(self, body: RpcRequest) -> RpcResponse:
        """JSON-RPC to the node. JSON-RPC 2.0 in front of the node, `params` as an object. Everything is checked before it is forwarded, and integers of 64 bits survive unchanged in both directions; they may also be sent as decimal text."""
        return self._answer(OPERATIONS["rpc"], {}, body)

    def webhooks(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Rows[Webhook, Webhooks]:
        """
        The webhooks of the account. Oldest first. A page holds up to 10,000 addresses: it ends before the webhook that would exceed them, and always has one. Credits: 0 flat. Open from the developer plan (tier pro) on. `GET /v1/webhooks`

        limit: Webhooks per page.
        cursor: Cursor from `next_cursor` of the page before.
        """
        return self._rows(OPERATIONS["webhooks"], {"limit": limit, "cursor": cursor})

    def create_webhook(self, *, url: str, kinds: List[Literal["block_added", "virtual_chain_changed", "virtual_daa_score_changed", "sink_blue_score_changed", "utxos_changed", "mempool_entry", "covenant_execution", "krc20_activity", "native_asset_transfer", "scriptlang_event", "covenant_created", "covenant_spent", "token_transfer"]], addresses: Optional[List[str]] = None, batch: Optional[bool] = None) -> CreatedWebhook:
        """
        Create a webhook. The secret that signs its deliveries is shown in this answer and never again. Credits: 10 flat. Open from the developer plan (tier pro) on. `POST /v1/webhooks`

        url: HTTPS address of the receiver; port 443 or 1024 and above.
        kinds: Kinds of events.
        addresses: Addresses that narrow the kinds which have some; needed for utxos_changed.
        batch: Whether what is waiting, up to 100 events, 1 MiB or 200 ms, comes in one POST as an array.
        """
        return self._answer(OPERATIONS["create_webhook"], {}, {"url": url, "kinds": kinds, "addresses": addresses, "batch": batch})

    def webhook(self, id: str) -> FoundWebhook:
        """
        One webhook. The secret is shown at creation only. Credits: 0 flat. Open from the developer plan (tier pro) on. `GET /v1/webhooks/{id}`

        id: Id of the webhook.
        """
        return self._answer(OPERATIONS["webhook"], {"id": id})

    def update_webhook(self, id: str, *, active: Optional[bool] = None, kinds: Optional[List[Literal["block_added", "virtual_chain_changed", "virtual_daa_score_changed", "sink_blue_score_changed", "utxos_changed", "mempool_entry", "covenant_execution", "krc20_activity", "native_asset_transfer", "scriptlang_event", "covenant_created", "covenant_spent", "token_transfer"]]] = None, addresses: Optional[List[str]] = None, batch: Optional[bool] = None) -> ChangedWebhook:
        """
        Change a webhook. What is left out stays as it is. The url and the secret are not changed here. Credits: 0 flat. Open from the developer plan (tier pro) on. `PATCH /v1/webhooks/{id}`

        id: Id of the webhook.
        active: Off stops deliveries; on starts them, also after the service switched it off.
        kinds: Kinds of events.
        addresses: Addresses that narrow the kinds which have some; needed for utxos_changed.
        batch: Whether what is waiting, up to 100 events, 1 MiB or 200 ms, comes in one POST as an array.
        """
        return self._answer(OPERATIONS["update_webhook"], {"id": id}, {"active": active, "kinds": kinds, "addresses": addresses, "batch": batch})

    def delete_webhook(self, id: str) -> DeletedWebhook:
        """
        Remove a webhook, with everything that waits for it. Credits: 0 flat. Open from the developer plan (tier pro) on. `DELETE /v1/webhooks/{id}`

        id: Id of the webhook.
        """
        return self._answer(OPERATIONS["delete_webhook"], {"id": id})

    def webhook_deliveries(self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Rows[Delivery, Deliveries]:
        """
        Deliveries of a webhook, newest first. Pending ones, and those of the last seven days. Credits: 0 flat. Open from the developer plan (tier pro) on. `GET /v1/webhooks/{id}/deliveries`

        id: Id of the webhook.
        limit: Deliveries per page.
        cursor: Cursor from `next_cursor` of the page before.
        """
        return self._rows(OPERATIONS["webhook_deliveries"], {"id": id, "limit": limit, "cursor": cursor})

    def test_webhook(self, id: str) -> WebhookTest:
        """
        Send a sample event now. Sends one event of the webhook's first kind, signed like any other, with seq 0 and an id that begins evt_test. The answer tells what the receiver said. Credits: 0 flat. Open from the developer plan (tier pro) on. `POST /v1/webhooks/{id}/test`

        id: Id of the webhook.
        """
        return self._answer(OPERATIONS["test_webhook"], {"id": id})

    def rotate_webhook(self, id: str) -> RotatedSecret:
        """
        Give a webhook a new signing secret. The old secret goes on signing beside the new one for 24 hours: in X-Svc-Signature-Previous and in the Standard Webhooks header. Another rotation within this time replaces the new secret and leaves the old one and its time as they are. Credits: 0 flat. Open from the developer plan (tier pro) on. `POST /v1/webhooks/{id}/rotate`

        id: Id of the webhook.
        """
        return self._answer(OPERATIONS["rotate_webhook"], {"id": id})

    def replay_webhook(self, id: str, *, after_seq: Optional[int] = None, since: Optional[Time] = None, up_to_seq: Optional[int] = None, until: Optional[Time] = None) -> Replay:
        """
        Deliver past events again. Up to 10,000 events per call, as new deliveries; no more than the credits pay for. An event that waits to be delivered already is not planned again. Each costs a credit when it is delivered, like any delivery. With 10,000 events waiting for the webhook (50,000 for the account) a replay has to wait too (429). It counts as a heavy call while it runs, and an account has one at a time: another one is refused with 429 (`replay_running`). Without an `Idempotency-Key` it ends where it is when its caller disconnects. While the disk of the service is nearly full, nothing is replayed (503). Credits: 0 flat. Open from the developer plan (tier pro) on. `POST /v1/webhooks/{id}/replay`

        id: Id of the webhook.
        after_seq: Events with a higher number.
        since: Events from this time on. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        up_to_seq: No event with a higher number. Without an end: everything up to now.
        until: Events before this time. ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.
        """
        return self._answer(OPERATIONS["replay_webhook"], {"id": id}, {"after_seq": after_seq, "since": since, "up_to_seq": up_to_seq, "until": until})

    def limits(self) -> Limits:
        """Plan, credits and rate limits of the account. Credits: 0 flat. Open from the free plan on. `GET /v1/limits`"""
        return self._answer(OPERATIONS["limits"], {})

    def status(self, *, limit: Optional[int] = None) -> Status:
        """
        State of the recorders, the nodes and the deliveries. Credits: 0 flat. Open from the free plan on. `GET /v1/status`

        limit: Records of `ingestion` at most. Left out: all.
        """
        return self._answer(OPERATIONS["status"], {"limit": limit})

    def health(self) -> Health:
        """Liveness. Another path to `GET /health`. `GET /v1/health`"""
        return self._answer(OPERATIONS["health"], {})

    def ready(self) -> Ready:
        """Readiness. Whether every part works, venues and nodes included: 200, or 503 with the failing parts. Needs no key. `GET /ready`"""
        return self._answer(OPERATIONS["ready"], {})

    def openapi_json(self) -> OpenApi:
        """This contract as OpenAPI 3.1. Generated from the declarations that the service runs on. Needs no key. `GET /openapi.json`"""
        return self._answer(OPERATIONS["openapi_json"], {})

    def asyncapi_json(self) -> AsyncApi:
        """The stream and the webhooks as AsyncAPI 3. Generated from the kinds of events that the service runs on. Needs no key. `GET /asyncapi.json`"""
        return self._answer(OPERATIONS["asyncapi_json"], {})

class AsyncMethods:
    """A method for every endpoint, to be awaited."""

    def _rows(self, operation: Operation, params: Mapping[str, Any]) -> AsyncRows[Any, Any]:
        raise NotImplementedError

    async def _answer(self, operation: Operation, params: Mapping[str, Any], body: Any = None) -> Any:
        raise NotImplementedError

    async def sources(self) -> Sources:
        """Catalog of sources and their endpoints. The same for every plan; each endpoint record carries its `min_tier`. Credits: 25 flat. Open from the free plan on. `GET /v1/sources`"""
        return await self._answer(OPERATIONS["sources"], {})

    async def symbols(self) -> Symbols:
        """Symbols and what covers them. Credits: 0 flat. Open from the free plan on. `GET /v1/symbols`"""
        return await self._answer(OPERATIONS["symbols"], {})

    def candles(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, interval: Optional[Literal["1s", "1m", "5m", "15m", "1h", "4h", "1d", "24h"]] = None, source: Optional[Literal["cexa", "cexa_spot", "cexa_futures", "perpdex", "predmkt_a", "predmkt_b", "oracle"]] = None, market_id: Optional[str] = None, token_id: Optional[str] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> AsyncRows[Candle, ListMeta]:
        """Candles (OHLCV). The current bar is served with `closed: false`. Rows come in time order when `start` is given, newest first otherwise. `oracle` has 5m and 15m only and no volume; prediction-market prices are probabilities. Credits: 50 plus 3 per row. Open from the free plan on. `GET /v1/candles`"""
        return self._rows(OPERATIONS["candles"], {"symbol": symbol, "interval": interval, "source": source, "market_id": market_id, "token_id": token_id, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def predmkt_a_candles(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, interval: Optional[Literal["5m", "15m", "1h", "4h", "1d", "24h"]] = None, market_id: Optional[str] = None, token_id: Optional[str] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None, condition_id: Optional[str] = None) -> AsyncRows[Candle, ListMeta]:
        """Candles of prediction market A. Credits: 50 plus 3 per row. Open from the free plan on. Another path to `GET /v1/candles` with source=predmkt_a. `GET /v1/predmkt_a/candles`"""
        return self._rows(OPERATIONS["predmkt_a_candles"], {"symbol": symbol, "interval": interval, "market_id": market_id, "token_id": token_id, "start": start, "end": end, "limit": limit, "after": after, "order": order, "condition_id": condition_id})

    def predmkt_b_by_symbol(self, symbol: str, *, interval: Optional[Literal["5m", "15m", "1h", "4h", "1d", "24h"]] = None, market_id: Optional[str] = None, token_id: Optional[str] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None, start_time: Optional[Time] = None, end_time: Optional[Time] = None, offset: Optional[int] = None, include_orderbook: Optional[bool] = None) -> AsyncRows[Candle, ListMeta]:
        """Probability and price history of prediction market B. Credits: 50 plus 3 per row. Open from the free plan on. Another path to `GET /v1/candles` with source=predmkt_b. `GET /v1/predmkt_b/{symbol}`"""
        return self._rows(OPERATIONS["predmkt_b_by_symbol"], {"symbol": symbol, "interval": interval, "market_id": market_id, "token_id": token_id, "start": start, "end": end, "limit": limit, "after": after, "order": order, "start_time": start_time, "end_time": end_time, "offset": offset, "include_orderbook": include_orderbook})

    def perpdex_by_symbol(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, interval: Optional[Literal["1s", "1m", "5m", "15m", "1h", "4h", "1d", "24h"]] = None, market_id: Optional[str] = None, token_id: Optional[str] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None, start_time: Optional[Time] = None, end_time: Optional[Time] = None, offset: Optional[int] = None, include_orderbook: Optional[bool] = None) -> AsyncRows[Candle, ListMeta]:
        """Candles of a perpetual. Credits: 50 plus 3 per row. Open from the free plan on. Another path to `GET /v1/candles` with source=perpdex. `GET /v1/perpdex/{symbol}`"""
        return self._rows(OPERATIONS["perpdex_by_symbol"], {"symbol": symbol, "interval": interval, "market_id": market_id, "token_id": token_id, "start": start, "end": end, "limit": limit, "after": after, "order": order, "start_time": start_time, "end_time": end_time, "offset": offset, "include_orderbook": include_orderbook})

    def snapshots(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, source: Literal["predmkt_a", "predmkt_b", "perpdex", "cexa"], market_id: Optional[str] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, include_orderbook: Optional[bool] = None, include_diffs: Optional[bool] = None, depth: Optional[int] = None, interval: Optional[Literal["500ms", "1s", "5m", "15m", "1h", "4h", "24h"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> AsyncRows[Snapshot, ListMeta]:
        """Order-book snapshots. Samples on a 500 ms grid. `interval` picks the last sample of each step. The books of prediction markets come with `include_orderbook`; `perpdex` rows always carry their levels. Credits: 50 plus 4 per row; 50 plus 10 per row with include_orderbook on predmkt_a. Open from the free plan on. `GET /v1/snapshots`"""
        return self._rows(OPERATIONS["snapshots"], {"source": source, "symbol": symbol, "market_id": market_id, "market_type": market_type, "include_orderbook": include_orderbook, "include_diffs": include_diffs, "depth": depth, "interval": interval, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def predmkt_a_snapshots(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, market_id: Optional[str] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, include_orderbook: Optional[bool] = None, include_diffs: Optional[bool] = None, depth: Optional[int] = None, interval: Optional[Literal["500ms", "1s", "5m", "15m", "1h", "4h", "24h"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None, condition_id: Optional[str] = None) -> AsyncRows[Snapshot, ListMeta]:
        """Up/Down book snapshots. Credits: 50 plus 4 per row; 50 plus 10 per row with include_orderbook on predmkt_a. Open from the free plan on. Another path to `GET /v1/snapshots` with source=predmkt_a. `GET /v1/predmkt_a/snapshots`"""
        return self._rows(OPERATIONS["predmkt_a_snapshots"], {"symbol": symbol, "market_id": market_id, "market_type": market_type, "include_orderbook": include_orderbook, "include_diffs": include_diffs, "depth": depth, "interval": interval, "start": start, "end": end, "limit": limit, "after": after, "order": order, "condition_id": condition_id})

    def predmkt_a_orderbook(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, market_id: Optional[str] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, include_diffs: Optional[bool] = None, depth: Optional[int] = None, interval: Optional[Literal["500ms", "1s", "5m", "15m", "1h", "4h", "24h"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None, condition_id: Optional[str] = None) -> AsyncRows[Snapshot, ListMeta]:
        """Order-book history of prediction market A. Credits: 50 plus 10 per row. Open from the free plan on. Another path to `GET /v1/snapshots` with source=predmkt_a, include_orderbook=true. `GET /v1/predmkt_a/orderbook`"""
        return self._rows(OPERATIONS["predmkt_a_orderbook"], {"symbol": symbol, "market_id": market_id, "market_type": market_type, "include_diffs": include_diffs, "depth": depth, "interval": interval, "start": start, "end": end, "limit": limit, "after": after, "order": order, "condition_id": condition_id})

    def predmkt_b_snapshots(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, market_id: Optional[str] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, include_orderbook: Optional[bool] = None, include_diffs: Optional[bool] = None, depth: Optional[int] = None, interval: Optional[Literal["500ms", "1s", "5m", "15m", "1h", "4h", "24h"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None, series: Optional[Literal["15m", "hourly", "daily"]] = None) -> AsyncRows[Snapshot, ListMeta]:
        """Yes/No book snapshots. Credits: 50 plus 4 per row. Open from the free plan on. Another path to `GET /v1/snapshots` with source=predmkt_b. `GET /v1/predmkt_b/snapshots`"""
        return self._rows(OPERATIONS["predmkt_b_snapshots"], {"symbol": symbol, "market_id": market_id, "market_type": market_type, "include_orderbook": include_orderbook, "include_diffs": include_diffs, "depth": depth, "interval": interval, "start": start, "end": end, "limit": limit, "after": after, "order": order, "series": series})

    def predmkt_b_orderbook(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, market_id: Optional[str] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, include_diffs: Optional[bool] = None, depth: Optional[int] = None, interval: Optional[Literal["500ms", "1s", "5m", "15m", "1h", "4h", "24h"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None, series: Optional[Literal["15m", "hourly", "daily"]] = None) -> AsyncRows[Snapshot, ListMeta]:
        """Order-book history of prediction market B. Credits: 50 plus 4 per row. Open from the free plan on. Another path to `GET /v1/snapshots` with source=predmkt_b, include_orderbook=true. `GET /v1/predmkt_b/orderbook`"""
        return self._rows(OPERATIONS["predmkt_b_orderbook"], {"symbol": symbol, "market_id": market_id, "market_type": market_type, "include_diffs": include_diffs, "depth": depth, "interval": interval, "start": start, "end": end, "limit": limit, "after": after, "order": order, "series": series})

    def perpdex_snapshots(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, market_id: Optional[str] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, include_orderbook: Optional[bool] = None, include_diffs: Optional[bool] = None, depth: Optional[int] = None, interval: Optional[Literal["500ms", "1s", "5m", "15m", "1h", "4h", "24h"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> AsyncRows[Snapshot, ListMeta]:
        """L2 book snapshots of perpetuals. Credits: 50 plus 4 per row. Open from the free plan on. Another path to `GET /v1/snapshots` with source=perpdex. `GET /v1/perpdex/snapshots`"""
        return self._rows(OPERATIONS["perpdex_snapshots"], {"symbol": symbol, "market_id": market_id, "market_type": market_type, "include_orderbook": include_orderbook, "include_diffs": include_diffs, "depth": depth, "interval": interval, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    async def snapshots_at(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, source: Literal["predmkt_a", "predmkt_b", "perpdex", "cexa"], time: Optional[Time] = None, interval: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, market_id: Optional[str] = None, include_orderbook: Optional[bool] = None) -> SnapshotAt:
        """The snapshot at or before a time. Without `market_id` a prediction market answers with the market whose window holds the time, shortest duration first, or the newest of a duration with `interval` in place of `time`. `data` is null when there is none at or before the time; `meta.reason` says why. Credits: 50 flat. Open from the free plan on. `GET /v1/snapshots/at`"""
        return await self._answer(OPERATIONS["snapshots_at"], {"source": source, "symbol": symbol, "time": time, "interval": interval, "market_id": market_id, "include_orderbook": include_orderbook})

    async def predmkt_a_snapshots_at(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, time: Optional[Time] = None, interval: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, market_id: Optional[str] = None, include_orderbook: Optional[bool] = None, condition_id: Optional[str] = None) -> SnapshotAt:
        """Up/Down snapshot at or before a time. Credits: 50 flat. Open from the free plan on. Another path to `GET /v1/snapshots/at` with source=predmkt_a. `GET /v1/predmkt_a/snapshots/at`"""
        return await self._answer(OPERATIONS["predmkt_a_snapshots_at"], {"symbol": symbol, "time": time, "interval": interval, "market_id": market_id, "include_orderbook": include_orderbook, "condition_id": condition_id})

    async def predmkt_b_snapshots_at(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, time: Optional[Time] = None, interval: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, market_id: Optional[str] = None, include_orderbook: Optional[bool] = None) -> SnapshotAt:
        """Yes/No snapshot at or before a time. Credits: 50 flat. Open from the free plan on. Another path to `GET /v1/snapshots/at` with source=predmkt_b. `GET /v1/predmkt_b/snapshots/at`"""
        return await self._answer(OPERATIONS["predmkt_b_snapshots_at"], {"symbol": symbol, "time": time, "interval": interval, "market_id": market_id, "include_orderbook": include_orderbook})

    async def perpdex_snapshots_at(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, time: Optional[Time] = None, interval: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, market_id: Optional[str] = None, include_orderbook: Optional[bool] = None) -> SnapshotAt:
        """L2 snapshot at or before a time. Credits: 50 flat. Open from the free plan on. Another path to `GET /v1/snapshots/at` with source=perpdex. `GET /v1/perpdex/snapshots/at`"""
        return await self._answer(OPERATIONS["perpdex_snapshots_at"], {"symbol": symbol, "time": time, "interval": interval, "market_id": market_id, "include_orderbook": include_orderbook})

    def trades(self, symbol: str, *, source: Optional[Literal["predmkt_a", "predmkt_b", "perpdex"]] = None, market_id: Optional[str] = None, token_id: Optional[str] = None, side: Optional[Literal["buy", "sell", "all"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> AsyncRows[Trade, ListMeta]:
        """Trade ticks. Single trades. Spot exchange trades are on `/v1/flow` as buckets. Credits: 50 plus 2 per row. Open from the free plan on. `GET /v1/trades`"""
        return self._rows(OPERATIONS["trades"], {"symbol": symbol, "source": source, "market_id": market_id, "token_id": token_id, "side": side, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def predmkt_a_trades(self, symbol: str, *, market_id: Optional[str] = None, token_id: Optional[str] = None, side: Optional[Literal["buy", "sell", "all"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None, condition_id: Optional[str] = None) -> AsyncRows[Trade, ListMeta]:
        """Trade ticks of prediction market A. Credits: 50 plus 2 per row. Open from the free plan on. Another path to `GET /v1/trades` with source=predmkt_a. `GET /v1/predmkt_a/trades`"""
        return self._rows(OPERATIONS["predmkt_a_trades"], {"symbol": symbol, "market_id": market_id, "token_id": token_id, "side": side, "start": start, "end": end, "limit": limit, "after": after, "order": order, "condition_id": condition_id})

    def perpdex_trades(self, symbol: str, *, market_id: Optional[str] = None, token_id: Optional[str] = None, side: Optional[Literal["buy", "sell", "all"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> AsyncRows[Trade, ListMeta]:
        """Trade ticks of perpetuals. Credits: 50 plus 2 per row. Open from the free plan on. Another path to `GET /v1/trades` with source=perpdex. `GET /v1/perpdex/trades`"""
        return self._rows(OPERATIONS["perpdex_trades"], {"symbol": symbol, "market_id": market_id, "token_id": token_id, "side": side, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def flow(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, interval: Literal["5m", "15m", "1h", "4h", "24h"], start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> AsyncRows[Flow, ListMeta]:
        """Buy and sell pressure of the spot exchange. Buckets of aggregate trades. Counts are null in bars that were rebuilt without aggregate trades. Credits: 50 plus 3 per row. Open from the free plan on. `GET /v1/flow`"""
        return self._rows(OPERATIONS["flow"], {"symbol": symbol, "interval": interval, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def open_interest(self, symbol: str, *, source: Optional[Literal["cexa_futures", "perpdex", "predmkt_b"]] = None, interval: Optional[Literal["5m", "15m", "1h", "4h", "1d", "24h"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> AsyncRows[OpenInterest, ListMeta]:
        """Open interest. For `predmkt_b` a symbol gives the sum over its markets; a ticker in place of the symbol gives one market. Credits: 50 plus 3 per row. Open from the free plan on. `GET /v1/open-interest`"""
        return self._rows(OPERATIONS["open_interest"], {"symbol": symbol, "source": source, "interval": interval, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def perpdex_open_interest(self, symbol: str, *, interval: Optional[Literal["5m", "15m", "1h", "4h", "1d", "24h"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> AsyncRows[OpenInterest, ListMeta]:
        """Open interest of perpetuals. Credits: 50 plus 3 per row. Open from the free plan on. Another path to `GET /v1/open-interest` with source=perpdex. `GET /v1/perpdex/open-interest`"""
        return self._rows(OPERATIONS["perpdex_open_interest"], {"symbol": symbol, "interval": interval, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def liquidations(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, start: Optional[Time] = None, end: Optional[Time] = None, side: Optional[Literal["long", "short", "all"]] = None, min_usd: Optional[float] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> AsyncRows[Liquidation, ListMeta]:
        """Liquidations of the futures exchange. A sample: the venue publishes at most one liquidation per symbol and second. Kept for 90 days. Credits: 25 plus 2 per row. Open from the free plan on. `GET /v1/liquidations`"""
        return self._rows(OPERATIONS["liquidations"], {"symbol": symbol, "start": start, "end": end, "side": side, "min_usd": min_usd, "limit": limit, "after": after, "order": order})

    def funding(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, source: Optional[Literal["cexa_futures", "perpdex"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> AsyncRows[Funding, ListMeta]:
        """Funding rates. One row per settlement: every 8 hours on the futures exchange, hourly on `perpdex`. Without a source both are interleaved in time. Credits: 50 plus 3 per row. Open from the free plan on. `GET /v1/funding`"""
        return self._rows(OPERATIONS["funding"], {"symbol": symbol, "source": source, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def perpdex_funding(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> AsyncRows[Funding, ListMeta]:
        """Funding rates of perpetuals. Credits: 50 plus 3 per row. Open from the free plan on. Another path to `GET /v1/funding` with source=perpdex. `GET /v1/perpdex/funding`"""
        return self._rows(OPERATIONS["perpdex_funding"], {"symbol": symbol, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def ticker(self, symbol: Literal["BTC", "ETH", "SOL", "XRP"], *, source: Optional[Literal["cexa", "cexa_futures"]] = None, start: Optional[Time] = None, end: Optional[Time] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> AsyncRows[Ticker, ListMeta]:
        """Best bid and ask, one row per second. Credits: 50 plus 5 per row. Open from the developer plan (tier pro) on. `GET /v1/ticker`"""
        return self._rows(OPERATIONS["ticker"], {"symbol": symbol, "source": source, "start": start, "end": end, "limit": limit, "after": after, "order": order})

    def markets(self, *, source: Optional[Literal["predmkt_a", "predmkt_b", "perpdex"]] = None, symbol: Optional[Literal["BTC", "ETH", "SOL", "XRP"]] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, active: Optional[bool] = None, status: Optional[Literal["upcoming", "open", "closed", "resolved"]] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> AsyncRows[Market, ListMeta]:
        """Markets and their identifiers. Latest end first, perpetuals before all; with `order=asc` the soonest end first. `active` and `status` left out list all. Credits: 25 flat. Open from the free plan on. `GET /v1/markets`"""
        return self._rows(OPERATIONS["markets"], {"source": source, "symbol": symbol, "market_type": market_type, "active": active, "status": status, "limit": limit, "after": after, "order": order})

    def predmkt_a_markets(self, *, symbol: Optional[Literal["BTC", "ETH", "SOL", "XRP"]] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, active: Optional[bool] = None, status: Optional[Literal["upcoming", "open", "closed", "resolved"]] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> AsyncRows[Market, ListMeta]:
        """Markets of prediction market A. Credits: 25 flat. Open from the free plan on. Another path to `GET /v1/markets` with source=predmkt_a. `GET /v1/predmkt_a/markets`"""
        return self._rows(OPERATIONS["predmkt_a_markets"], {"symbol": symbol, "market_type": market_type, "active": active, "status": status, "limit": limit, "after": after, "order": order})

    def predmkt_b(self, *, symbol: Optional[Literal["BTC", "ETH", "SOL", "XRP"]] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, status: Optional[Literal["upcoming", "open", "closed", "resolved"]] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> AsyncRows[Market, ListMeta]:
        """Active markets of prediction market B. Credits: 25 flat. Open from the free plan on. Another path to `GET /v1/markets` with source=predmkt_b, active=true. `GET /v1/predmkt_b`"""
        return self._rows(OPERATIONS["predmkt_b"], {"symbol": symbol, "market_type": market_type, "status": status, "limit": limit, "after": after, "order": order})

    def predmkt_b_markets(self, *, symbol: Optional[Literal["BTC", "ETH", "SOL", "XRP"]] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, status: Optional[Literal["upcoming", "open", "closed", "resolved"]] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> AsyncRows[Market, ListMeta]:
        """Active markets of prediction market B. Credits: 25 flat. Open from the free plan on. Another path to `GET /v1/markets` with source=predmkt_b, active=true. `GET /v1/predmkt_b/markets`"""
        return self._rows(OPERATIONS["predmkt_b_markets"], {"symbol": symbol, "market_type": market_type, "status": status, "limit": limit, "after": after, "order": order})

    def perpdex(self, *, symbol: Optional[Literal["BTC", "ETH", "SOL", "XRP"]] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, active: Optional[bool] = None, status: Optional[Literal["upcoming", "open", "closed", "resolved"]] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> AsyncRows[Market, ListMeta]:
        """Perpetual markets. Credits: 25 flat. Open from the free plan on. Another path to `GET /v1/markets` with source=perpdex. `GET /v1/perpdex`"""
        return self._rows(OPERATIONS["perpdex"], {"symbol": symbol, "market_type": market_type, "active": active, "status": status, "limit": limit, "after": after, "order": order})

    def perpdex_markets(self, *, symbol: Optional[Literal["BTC", "ETH", "SOL", "XRP"]] = None, market_type: Optional[Literal["5m", "15m", "1h", "4h", "24h"]] = None, active: Optional[bool] = None, status: Optional[Literal["upcoming", "open", "closed", "resolved"]] = None, limit: Optional[int] = None, after: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None) -> AsyncRows[Market, ListMeta]:
        """Perpetual markets. Credits: 25 flat. Open from the free plan on. Another path to `GET /v1/markets` with source=perpdex. `GET /v1/perpdex/markets`"""
        return self._rows(OPERATIONS["perpdex_markets"], {"symbol": symbol, "market_type": market_type, "active": active, "status": status, "limit": limit, "after": after, "order": order})

    async def market(self, identifier: str, *, source: Optional[Literal["predmkt_a", "predmkt_b", "perpdex"]] = None) -> MarketRecord:
        """One market by any of its identifiers. Credits: 25 flat. Open from the free plan on. `GET /v1/markets/{identifier}`"""
        return await self._answer(OPERATIONS["market"], {"identifier": identifier, "source": source})

    async def predmkt_a_market(self, identifier: str) -> MarketRecord:
        """One market of prediction market A. Credits: 25 flat. Open from the free plan on. Another path to `GET /v1/markets/{identifier}` with source=predmkt_a. `GET /v1/predmkt_a/markets/{identifier}`"""
        return await self._answer(OPERATIONS["predmkt_a_market"], {"identifier": identifier})

    def cexa_spot(self) -> AsyncRows[ExchangePair, ListMeta]:
        """Symbols of spot exchange A. Their rows are on the endpoints with `source=cexa`. Credits: 25 flat. Open from the free plan on. `GET /v1/cexa/spot`"""
        return self._rows(OPERATIONS["cexa_spot"], {})

    def cexa_futures(self) -> AsyncRows[ExchangePair, ListMeta]:
        """Symbols of futures exchange A. Their rows are on the endpoints with `source=cexa_futures`. Credits: 25 flat. Open from the free plan on. `GET /v1/cexa/futures`"""
        return self._rows(OPERATIONS["cexa_futures"], {})

    async def submit_transaction(self, *, transaction: SubmitRequestTransaction, allow_orphan: Optional[bool] = None, replace_by_fee: Optional[bool] = None, wait_for_mempool: Optional[bool] = None, wait_timeout_seconds: Optional[float] = None) -> SubmitResult:
        """Submit a signed transaction. Hands the transaction to a node and to another one where the first does not answer. "Already in the mempool" and "already accepted" are success, so sending the same transaction again does no harm. A refusal is 422 `transaction_rejected`, with `reason` and what the node said about it (`required_fee_sompi`, `other_tx_id`, `mass_limit` …). When a node that did not answer may have taken it, the error has `in_doubt: true` and `tx_id`. Credits: 10 plus 5 per attempt. Open from the developer plan (tier pro) on. `POST /v1/transactions/submit`"""
        return await self._answer(OPERATIONS["submit_transaction"], {}, {"transaction": transaction, "allow_orphan": allow_orphan, "replace_by_fee": replace_by_fee, "wait_for_mempool": wait_for_mempool, "wait_timeout_seconds": wait_timeout_seconds})

    async def transaction(self, tx_id: str) -> TransactionLookup:
        """One transaction, parsed. From the index; where it is not there, from the mempool of a node, for 5 credits more. A confirmed transaction becomes pending again when its accepting block leaves the chain, and dropped when it leaves the mempool without being accepted. What is in no mempool is unknown (404) once the index has caught up with the node that was asked; while it is more than a few seconds behind that node, that is 503 with the reason `index_behind`. Credits: 10 plus 5 per mempool lookup. Open from the developer plan (tier pro) on. `GET /v1/transactions/{tx_id}`"""
        return await self._answer(OPERATIONS["transaction"], {"tx_id": tx_id})

    def address_transactions(self, address: str, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> AsyncRows[AddressTransaction, AddressTransactions]:
        """History of an address. Every transaction since the index was started, for every address, without registration. Pending transactions come first, newest first, then confirmed ones by block time and by the order in which they were accepted; a dropped one stands where it was first seen. Rows that arrive during a walk do not shift it; a transaction that is accepted during a walk moves to the place of its block, and one whose block leaves the chain back to the top. Credits: 10 plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/addresses/{address}/transactions`"""
        return self._rows(OPERATIONS["address_transactions"], {"address": address, "limit": limit, "cursor": cursor})

    def address_activity(self, address: str, *, limit: Optional[int] = None) -> AsyncRows[AddressActivityItem, AddressActivity]:
        """What an address holds and has under way now. Asked of a node: transactions in the mempool that send from or to the address, then its unspent outputs. The price is 5 for each of the two calls to the node, plus 10, plus 1 per row. Credits: 10 plus 5 per upstream call plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/addresses/{address}/activity`"""
        return self._rows(OPERATIONS["address_activity"], {"address": address, "limit": limit})

    async def address_balance(self, address: str, *, at: Optional[Time] = None) -> AddressBalance:
        """Balance of an address, now or at a past time. Asked of a node. A past balance is what the node says now, less what the index has recorded since: it counts the confirmed transactions whose `block_time` is `at` or earlier. A time before the index begins, or before a gap in it, is refused. It takes a second or so, since node and index are compared at one moment of the chain; it is refused with 503 where the address has new transactions all the time (`reason`: `address_busy`), or where the index has not caught up with the nodes (`index_behind`) or the nodes with the index (`nodes_behind`). The price is 10, plus 5 each for two calls to the node, also where more are made so that all comes from one moment. Credits: 10 plus 5 per upstream call. Open from the developer plan (tier pro) on. `GET /v1/addresses/{address}/balance`"""
        return await self._answer(OPERATIONS["address_balance"], {"address": address, "at": at})

    def address_utxos(self, address: str, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> AsyncRows[AddressUtxo, AddressUtxos]:
        """Unspent outputs of an address. Asked of a node, in the order of transaction id and index: a walk gives each output once that stays unspent meanwhile. Outputs that the mempool spends are still listed. An address with more than 100,000 of them is refused. The price is 5 for the call to the node, plus 10, plus 1 per row. Credits: 10 plus 5 per upstream call plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/addresses/{address}/utxos`"""
        return self._rows(OPERATIONS["address_utxos"], {"address": address, "limit": limit, "cursor": cursor})

    def address_covenants(self, address: str, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> AsyncRows[AddressCovenant, AddressCovenants]:
        """Covenant outputs of an address. Unspent outputs of the address that are bound to a covenant, as the chain has confirmed them, from the index. Whose key may spend them is up to the covenant: an output is not a claim of ownership. Outputs from before `coverage_from` are left out. Credits: 10 plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/addresses/{address}/covenants`"""
        return self._rows(OPERATIONS["address_covenants"], {"address": address, "limit": limit, "cursor": cursor})

    def covenant(self, covenant_id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> AsyncRows[CovenantStep, Covenant]:
        """A covenant and its lineage. Accepted transactions only, in the order of acceptance; one whose block leaves the chain leaves the lineage with it. What a program is follows from what a spend reveals: a form that is not known is `unknown`, and what is hidden until it is spent is null. Credits: 10 plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/covenants/{covenant_id}`"""
        return self._rows(OPERATIONS["covenant"], {"covenant_id": covenant_id, "limit": limit, "cursor": cursor})

    def covenant_utxos(self, covenant_id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> AsyncRows[CovenantUtxo, CovenantUtxos]:
        """Unspent outputs of a covenant. As the chain has confirmed it, from the index. Outputs from before `coverage_from` are left out: they may have been spent where the index has a gap. Credits: 10 plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/covenants/{covenant_id}/utxos`"""
        return self._rows(OPERATIONS["covenant_utxos"], {"covenant_id": covenant_id, "limit": limit, "cursor": cursor})

    def tokens(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> AsyncRows[Token, Tokens]:
        """Tokens. KRC-20 tokens and covenant tokens that the index has seen at work, as far as the chain reveals them. KRC-20 operations are judged by the rules of its reference indexer. Credits: 10 plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/tokens`"""
        return self._rows(OPERATIONS["tokens"], {"limit": limit, "cursor": cursor})

    async def token(self, token: str) -> TokenDetail:
        """A token. As far as the chain reveals it; `history` says what its amounts rest on. Accepted transactions only: what a block that left the chain had done is undone. Credits: 10 flat. Open from the developer plan (tier pro) on. `GET /v1/tokens/{token}`"""
        return await self._answer(OPERATIONS["token"], {"token": token})

    def token_holders(self, token: str, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> AsyncRows[TokenHolder, TokenHolders]:
        """Holders of a token. As the chain has confirmed it. Of a covenant token only states that are proven count: new states are hidden until they are spent, unless the transaction that made them shows them. A holder whose amount changes during a walk may be met twice or not at all. Credits: 10 plus 1 per row. Open from the developer plan (tier pro) on. `GET /v1/tokens/{token}/holders`"""
        return self._rows(OPERATIONS["token_holders"], {"token": token, "limit": limit, "cursor": cursor})

    async def fees_estimate(self, *, experimental: Optional[bool] = None) -> FeeEstimate:
        """Fee rates by urgency. Credits: 1 flat. Open from the free plan on. `GET /v1/fees/estimate`"""
        return await self._answer(OPERATIONS["fees_estimate"], {"experimental": experimental})

    async def rpc(self, body: RpcRequest) -> RpcResponse:
        """JSON-RPC to the node. JSON-RPC 2.0 in front of the node, `params` as an object. Everything is checked before it is forwarded, and integers of 64 bits survive unchanged in both directions; they may also be sent as decimal text."""
        return await self._answer(OPERATIONS["rpc"], {}, body)

    def webhooks(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> AsyncRows[Webhook, Webhooks]:
        """The webhooks of the account. Oldest first. A page holds up to 10,000 addresses: it ends before the webhook that would exceed them, and always has one. Credits: 0 flat. Open from the developer plan (tier pro) on. `GET /v1/webhooks`"""
        return self._rows(OPERATIONS["webhooks"], {"limit": limit, "cursor": cursor})

    async def create_webhook(self, *, url: str, kinds: List[Literal["block_added", "virtual_chain_changed", "virtual_daa_score_changed", "sink_blue_score_changed", "utxos_changed", "mempool_entry", "covenant_execution", "krc20_activity", "native_asset_transfer", "scriptlang_event", "covenant_created", "covenant_spent", "token_transfer"]], addresses: Optional[List[str]] = None, batch: Optional[bool] = None) -> CreatedWebhook:
        """Create a webhook. The secret that signs its deliveries is shown in this answer and never again. Credits: 10 flat. Open from the developer plan (tier pro) on. `POST /v1/webhooks`"""
        return await self._answer(OPERATIONS["create_webhook"], {}, {"url": url, "kinds": kinds, "addresses": addresses, "batch": batch})

    async def webhook(self, id: str) -> FoundWebhook:
        """One webhook. The secret is shown at creation only. Credits: 0 flat. Open from the developer plan (tier pro) on. `GET /v1/webhooks/{id}`"""
        return await self._answer(OPERATIONS["webhook"], {"id": id})

    async def update_webhook(self, id: str, *, active: Optional[bool] = None, kinds: Optional[List[Literal["block_added", "virtual_chain_changed", "virtual_daa_score_changed", "sink_blue_score_changed", "utxos_changed", "mempool_entry", "covenant_execution", "krc20_activity", "native_asset_transfer", "scriptlang_event", "covenant_created", "covenant_spent", "token_transfer"]]] = None, addresses: Optional[List[str]] = None, batch: Optional[bool] = None) -> ChangedWebhook:
        """Change a webhook. What is left out stays as it is. The url and the secret are not changed here. Credits: 0 flat. Open from the developer plan (tier pro) on. `PATCH /v1/webhooks/{id}`"""
        return await self._answer(OPERATIONS["update_webhook"], {"id": id}, {"active": active, "kinds": kinds, "addresses": addresses, "batch": batch})

    async def delete_webhook(self, id: str) -> DeletedWebhook:
        """Remove a webhook, with everything that waits for it. Credits: 0 flat. Open from the developer plan (tier pro) on. `DELETE /v1/webhooks/{id}`"""
        return await self._answer(OPERATIONS["delete_webhook"], {"id": id})

    def webhook_deliveries(self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> AsyncRows[Delivery, Deliveries]:
        """Deliveries of a webhook, newest first. Pending ones, and those of the last seven days. Credits: 0 flat. Open from the developer plan (tier pro) on. `GET /v1/webhooks/{id}/deliveries`"""
        return self._rows(OPERATIONS["webhook_deliveries"], {"id": id, "limit": limit, "cursor": cursor})

    async def test_webhook(self, id: str) -> WebhookTest:
        """Send a sample event now. Sends one event of the webhook's first kind, signed like any other, with seq 0 and an id that begins evt_test. The answer tells what the receiver said. Credits: 0 flat. Open from the developer plan (tier pro) on. `POST /v1/webhooks/{id}/test`"""
        return await self._answer(OPERATIONS["test_webhook"], {"id": id})

    async def rotate_webhook(self, id: str) -> RotatedSecret:
        """Give a webhook a new signing secret. The old secret goes on signing beside the new one for 24 hours: in X-Svc-Signature-Previous and in the Standard Webhooks header. Another rotation within this time replaces the new secret and leaves the old one and its time as they are. Credits: 0 flat. Open from the developer plan (tier pro) on. `POST /v1/webhooks/{id}/rotate`"""
        return await self._answer(OPERATIONS["rotate_webhook"], {"id": id})

    async def replay_webhook(self, id: str, *, after_seq: Optional[int] = None, since: Optional[Time] = None, up_to_seq: Optional[int] = None, until: Optional[Time] = None) -> Replay:
        """Deliver past events again. Up to 10,000 events per call, as new deliveries; no more than the credits pay for. An event that waits to be delivered already is not planned again. Each costs a credit when it is delivered, like any delivery. With 10,000 events waiting for the webhook (50,000 for the account) a replay has to wait too (429). It counts as a heavy call while it runs, and an account has one at a time: another one is refused with 429 (`replay_running`). Without an `Idempotency-Key` it ends where it is when its caller disconnects. While the disk of the service is nearly full, nothing is replayed (503). Credits: 0 flat. Open from the developer plan (tier pro) on. `POST /v1/webhooks/{id}/replay`"""
        return await self._answer(OPERATIONS["replay_webhook"], {"id": id}, {"after_seq": after_seq, "since": since, "up_to_seq": up_to_seq, "until": until})

    async def limits(self) -> Limits:
        """Plan, credits and rate limits of the account. Credits: 0 flat. Open from the free plan on. `GET /v1/limits`"""
        return await self._answer(OPERATIONS["limits"], {})

    async def status(self, *, limit: Optional[int] = None) -> Status:
        """State of the recorders, the nodes and the deliveries. Credits: 0 flat. Open from the free plan on. `GET /v1/status`"""
        return await self._answer(OPERATIONS["status"], {"limit": limit})

    async def health(self) -> Health:
        """Liveness. Another path to `GET /health`. `GET /v1/health`"""
        return await self._answer(OPERATIONS["health"], {})

    async def ready(self) -> Ready:
        """Readiness. Whether every part works, venues and nodes included: 200, or 503 with the failing parts. Needs no key. `GET /ready`"""
        return await self._answer(OPERATIONS["ready"], {})

    async def openapi_json(self) -> OpenApi:
        """This contract as OpenAPI 3.1. Generated from the declarations that the service runs on. Needs no key. `GET /openapi.json`"""
        return await self._answer(OPERATIONS["openapi_json"], {})

    async def asyncapi_json(self) -> AsyncApi:
        """The stream and the webhooks as AsyncAPI 3. Generated from the kinds of events that the service runs on. Needs no key. `GET /asyncapi.json`"""
        return await self._answer(OPERATIONS["asyncapi_json"], {})

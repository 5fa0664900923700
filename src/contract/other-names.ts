/**
 * The names that other services give to our parameters. A request with such a name is refused, as with every unknown
 * name, and the error suggests the name that the operation has.
 */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  start: [
    'from',
    'since',
    'start_time',
    'starttime',
    'start_date',
    'start_at',
    'start_ts',
    'from_time',
    'gte',
  ],
  end: [
    'to',
    'until',
    'till',
    'before',
    'end_time',
    'endtime',
    'end_date',
    'end_at',
    'end_ts',
    'to_time',
    'lt',
  ],
  after: ['cursor', 'page', 'next', 'next_cursor', 'page_token', 'starting_after', 'continuation'],
  cursor: ['after', 'page', 'next', 'next_cursor', 'page_token', 'starting_after', 'continuation'],
  limit: ['count', 'size', 'page_size', 'per_page', 'max', 'num', 'take'],
  order: ['sort', 'sort_order', 'order_by', 'direction', 'reverse'],
  source: ['exchange', 'venue', 'provider', 'platform'],
  symbol: ['pair', 'coin', 'asset', 'instrument', 'base', 'ticker', 'currency'],
  interval: ['resolution', 'granularity', 'timeframe', 'period', 'bar', 'bucket', 'candle_interval'],
  market_type: ['duration', 'tenor', 'window', 'interval', 'timeframe'],
  market_id: ['market', 'condition_id', 'slug', 'event', 'event_id', 'ticker'],
  token_id: ['asset_id', 'outcome_id', 'token', 'clob_token_id'],
  depth: ['level', 'levels'],
  min_usd: ['min_value', 'min_size', 'min_amount', 'min_notional'],
  time: ['at', 'timestamp', 'ts', 'date'],
  at: ['time', 'timestamp', 'ts', 'date'],
}

/** Maps each foreign name to our names, in the order of the table. */
const OWN_NAMES = Map.groupBy(
  Object.entries(OTHERS).flatMap(([own, others]) => others.map((other) => ({ own, other }))),
  ({ other }) => other,
)

/** Our name for what another service calls `other`; undefined if the operation has no such parameter. */
export function ownName(other: string, known: readonly string[]): string | undefined {
  const name = other
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase()
  if (known.includes(name)) return name
  return OWN_NAMES.get(name)?.find(({ own }) => known.includes(own))?.own
}

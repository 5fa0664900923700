/** Polymarket's Up/Down markets: topics, limits and hosts. Sources: its documentation of 2026. */
import type { VenueDescription, VenueHosts } from '../venue.ts'

const MINUTE_MS = 60_000
const WINDOW_MS = 10_000

/** `rest` is the catalogue, `stream` the books and trades. */
export interface PolymarketHosts extends VenueHosts {
  readonly clob: string
  readonly data: string
  readonly reference: string
  /** The newer relay of the reference price. */
  readonly bolt: string
}

export const polymarketDescription: VenueDescription & { readonly hosts: PolymarketHosts } = {
  name: 'polymarket',
  source: 'predmkt_a',
  symbols: { BTC: 'btc', ETH: 'eth', SOL: 'sol', XRP: 'xrp' },
  live: {
    markets: { via: 'poll', everyMs: 30_000, maxSilenceMs: 2 * MINUTE_MS },
    book: { via: 'stream', maxSilenceMs: 30_000 },
    trades: { via: 'stream', maxSilenceMs: null },
    // About one tick a second; a recorded day misses up to a tenth of them.
    reference_price: { via: 'stream', maxSilenceMs: 10_000 },
  },
  history: {
    markets: { maxAgeMs: null },
    trades: { maxAgeMs: 3 * 365 * 24 * 60 * MINUTE_MS },
    mids: { maxAgeMs: 7 * 24 * 60 * MINUTE_MS },
  },
  notProvided: {
    book: 'past books are not published',
    reference_price: 'past ticks are not published',
  },
  // Per address and ten seconds; the tightest route of each host that is asked.
  budgets: {
    gamma: { limit: 300, windowMs: WINDOW_MS },
    clob: { limit: 1_000, windowMs: WINDOW_MS },
    data: { limit: 200, windowMs: WINDOW_MS },
  },
  hosts: {
    rest: 'https://gamma-api.polymarket.com',
    stream: 'wss://ws-subscriptions-clob.polymarket.com',
    clob: 'https://clob.polymarket.com',
    data: 'https://data-api.polymarket.com',
    reference: 'wss://ws-live-data.polymarket.com',
    bolt: 'wss://ws-live-v2.polymarket.com',
  },
  renewAfterMs: null,
}

export const POLYMARKET_TIMES = {
  catalogueEveryMs: 30_000,
  /** A window is followed from so long before it begins until so long after it has closed. */
  followBeforeMs: 15 * MINUTE_MS,
  followAfterEndMs: 3 * MINUTE_MS,
  followAfterClosedMs: 2 * MINUTE_MS,
  resolveAfterMs: 15_000,
  resolveEveryMs: 7_000,
  resolvePatienceMs: 10 * MINUTE_MS,
  resolveSlowlyMs: MINUTE_MS,
  resolveForMs: 24 * 60 * MINUTE_MS,
  /** Counted from the close; a market that does not close is swept as if it had closed after `sweepLatestMs`. */
  sweepsAfterMs: [MINUTE_MS, 10 * MINUTE_MS],
  sweepLatestMs: 5 * MINUTE_MS,
  /** Every listed window, running or not, is swept so often; a sweep begins so long before the end of the last one. */
  roundEveryMs: 4 * MINUTE_MS,
  roundOverlapMs: 10 * MINUTE_MS,
  /** A trade is listed so long after its block, at the latest. */
  listedWithinMs: MINUTE_MS,
  /** Windows are listed a day ahead, those of a day two. */
  listedAheadMs: 50 * 60 * MINUTE_MS,
  /** A token without a book is asked for after this, and subscribed again after the next. */
  bookMissingMs: 10_000,
  resubscribeMs: 30_000,
  /** A token in its window that is silent for so long is compared with the venue's own book. */
  tokenSilenceMs: 30_000,
  /** Some running window of a symbol changes every second: a socket that pauses for so long has lost frames. */
  socketSilenceMs: 15_000,
  /** And every token in its window so often, whether silent or not: levels below the top prove nothing by themselves. */
  verifyEveryMs: MINUTE_MS,
  /** And once more so long before its window ends: afterwards nothing would show what was missed. */
  verifyBeforeEndMs: 5_000,
  /** Waiting for a book by itself before it is asked for (a new tick size brings one). */
  bookExpectedMs: 2_000,
  repairRetryMs: 1_000,
  repairSlowlyMs: 15_000,
} as const

export const POLYMARKET_STREAM_PATH = '/ws/market'
/** Beyond 500 a connection sends no first books; others keep to 200. */
export const TOKENS_PER_SOCKET = 200

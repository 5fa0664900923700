/** Polymarket's Up/Down markets: topics, limits and hosts. Source: the venue's documentation of 2026. */
import type { VenueDescription, VenueHosts } from '../venue.ts'

const MINUTE_MS = 60_000
const WINDOW_MS = 10_000

/** `rest` is the catalogue; `stream` has the order books and trades. */
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
    // About one tick a second; on a recorded day up to a tenth of them are missing.
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
  // Per address and ten seconds; for each host, the limit of the tightest endpoint that we use.
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
  /** How long before it begins, and after it ends or has closed, a window is followed. */
  followBeforeMs: 15 * MINUTE_MS,
  followAfterEndMs: 3 * MINUTE_MS,
  followAfterClosedMs: 2 * MINUTE_MS,
  resolveAfterMs: 15_000,
  resolveEveryMs: 7_000,
  resolvePatienceMs: 10 * MINUTE_MS,
  resolveSlowlyMs: MINUTE_MS,
  resolveForMs: 24 * 60 * MINUTE_MS,
  /** Counted from the close; a market that does not close counts as closed `sweepLatestMs` after its end. */
  sweepsAfterMs: [MINUTE_MS, 10 * MINUTE_MS],
  sweepLatestMs: 5 * MINUTE_MS,
  /**
   * How often every listed window is swept, running or not, and how far a sweep reaches back before the end of the
   * last.
   */
  roundEveryMs: 4 * MINUTE_MS,
  roundOverlapMs: 10 * MINUTE_MS,
  /** A trade is listed at most this long after its block. */
  listedWithinMs: MINUTE_MS,
  /** Windows are listed a day ahead, daily ones two days. */
  listedAheadMs: 50 * 60 * MINUTE_MS,
  /** A token without a book is requested after `bookMissingMs`, and subscribed again after `resubscribeMs`. */
  bookMissingMs: 10_000,
  resubscribeMs: 30_000,
  /** Windows are traded for about this long after their end. */
  tradedAfterEndMs: 90_000,
  /** A token that is silent for this long within its window is compared with the venue's own book. */
  tokenSilenceMs: 30_000,
  /** Some running window of a symbol changes every second, so a socket that pauses for this long has lost frames. */
  socketSilenceMs: 15_000,
  /**
   * Every token within its window is compared this often, silent or not, because levels below the top are not verified
   * otherwise.
   */
  verifyEveryMs: MINUTE_MS,
  /**
   * A token is compared once more this long before its window ends, because afterwards nothing would show what was
   * missed.
   */
  verifyBeforeEndMs: 5_000,
  /** How long a book is awaited before it is requested; a new tick size brings one without a request. */
  bookExpectedMs: 2_000,
  repairRetryMs: 1_000,
  repairSlowlyMs: 15_000,
} as const

export const POLYMARKET_STREAM_PATH = '/ws/market'
/** Above 500 tokens a connection sends no first books; other clients stay at 200. */
export const TOKENS_PER_SOCKET = 200

/** Kalshi's crypto contracts: topics, limits and hosts. Source: the venue's documentation of 2026. */
import type { VenueDescription } from '../venue.ts'

const MINUTE_MS = 60_000

export const kalshiDescription: VenueDescription = {
  name: 'kalshi',
  source: 'predmkt_b',
  symbols: { BTC: 'BTC', ETH: 'ETH', SOL: 'SOL', XRP: 'XRP' },
  live: {
    markets: { via: 'poll', everyMs: 30_000, maxSilenceMs: 2 * MINUTE_MS },
    // A single contract may be silent, but some contract of a symbol always moves.
    book: { via: 'stream', maxSilenceMs: MINUTE_MS },
    trades: { via: 'stream', maxSilenceMs: null },
    market_ticker: { via: 'stream', maxSilenceMs: 2 * MINUTE_MS },
    open_interest: { via: 'stream', maxSilenceMs: 2 * MINUTE_MS },
  },
  history: {
    markets: { maxAgeMs: null },
    trades: { maxAgeMs: null },
    contract_candles: { intervals: ['1m', '1h'], maxAgeMs: null },
  },
  notProvided: {
    book: 'past books are not published',
    market_ticker: 'past figures are in the candles',
    open_interest: 'past open interest is in the candles',
  },
  // 200 tokens a second; an ordinary request costs 10.
  budgets: { tokens: { limit: 200, windowMs: 1_000 } },
  hosts: {
    rest: 'https://external-api.kalshi.com',
    stream: 'wss://external-api-ws.kalshi.com',
  },
  renewAfterMs: null,
}

const POLLED = { via: 'poll', everyMs: 30_000 } as const

/**
 * Without an API key there is no stream: figures come with the list of contracts, and trades are requested after it.
 */
export const keylessDescription: VenueDescription = {
  ...kalshiDescription,
  live: {
    ...kalshiDescription.live,
    trades: { ...POLLED, maxSilenceMs: null },
    market_ticker: { ...POLLED, maxSilenceMs: 2 * MINUTE_MS },
    open_interest: { ...POLLED, maxSilenceMs: 2 * MINUTE_MS },
  },
}

export const REST_PREFIX = '/trade-api/v2'
export const KALSHI_STREAM_PATH = '/trade-api/ws/v2'

/** Cost of one ordinary request. */
export const QUESTION_TOKENS = 10

export const KALSHI_TIMES = {
  catalogueEveryMs: 30_000,
  /** How long before it opens and after it closes a contract is followed. */
  followBeforeOpenMs: 15 * MINUTE_MS,
  followAfterCloseMs: MINUTE_MS,
  resolveAfterMs: 5_000,
  resolveEveryMs: 10_000,
  /** A contract that stays unresolved for this long is queried less often, and after `resolveForMs` no longer. */
  resolvePatienceMs: 10 * MINUTE_MS,
  resolveSlowlyMs: MINUTE_MS,
  resolveForMs: 24 * 60 * MINUTE_MS,
  sweepAfterCloseMs: MINUTE_MS,
  /**
   * How often contracts whose volume has changed are swept, how far a sweep reaches back before the end of the last
   * one, and the most requests per second.
   */
  roundEveryMs: 4 * MINUTE_MS,
  roundOverlapMs: 10 * MINUTE_MS,
  roundPerSecond: 6,
  /** Two sequence gaps within this time drop the socket. */
  secondGapMs: MINUTE_MS,
  /**
   * A book that is lost soon after its last request is requested again `askSoonMs` after that request. A book or a
   * reply that does not arrive is requested again after `askAgainMs`, and given up after `hopelessMs`.
   */
  askSoonMs: 2_000,
  askAgainMs: 10_000,
  hopelessMs: 30_000,
  /** After a socket was given up for this reason, the next one gets twice the patience, at most this many times. */
  patienceDoublings: 3,
  /**
   * While a REST request has been unanswered for longer than `slowAnswerMs`, the venue is slow rather than silent, and
   * waiting time does not count, for up to `maxSlownessMs`.
   */
  slowAnswerMs: 2_000,
  maxSlownessMs: 3 * MINUTE_MS,
  /** How long a contract is left out that the venue does not know yet, or whose book does not arrive. */
  setAsideMs: MINUTE_MS,
  /** A change that arrives this much later than others means that the book was wrong in the meantime. */
  lateMs: 10_000,
  /** A book is wrong if the figures report another top at least this many times over this long. */
  topDiffersMs: 30_000,
  topReports: 5,
  /** The oldest quotes that a list may have. */
  maxListAgeMs: 5 * MINUTE_MS,
  /** A socket without any traffic for this long is dead, because the venue sends a ping every 10 s. */
  trafficSilenceMs: 25_000,
  /**
   * Without a socket, books are polled: those of quarter-hour contracts every `pollQuickMs`, all others in turn with at
   * most `pollOthersPerSecond` requests a second (about one round a minute). A book without an answer for
   * `quickHoldsMs` or `slowHoldsMs` is lost, because its round takes too long or requests fail.
   */
  pollQuickMs: 5_000,
  quickHoldsMs: 15_000,
  pollOthersPerSecond: 8,
  pollSlowMs: 45_000,
  slowHoldsMs: MINUTE_MS,
} as const

/** The venue refuses longer lists in one subscription. */
export const TICKERS_PER_SUBSCRIPTION = 200
/** The most contracts followed per symbol, preferring those that close first. */
export const TICKERS_PER_SYMBOL = 1_000

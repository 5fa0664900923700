/** Kalshi's crypto contracts: topics, limits and hosts. Sources: its documentation of 2026. */
import type { VenueDescription } from '../venue.ts'

const MINUTE_MS = 60_000

export const kalshiDescription: VenueDescription = {
  name: 'kalshi',
  source: 'predmkt_b',
  symbols: { BTC: 'BTC', ETH: 'ETH', SOL: 'SOL', XRP: 'XRP' },
  live: {
    markets: { via: 'poll', everyMs: 30_000, maxSilenceMs: 2 * MINUTE_MS },
    // A contract without trades is silent; some contract of a symbol always moves.
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
  // 200 tokens a second, 10 for an ordinary request.
  budgets: { tokens: { limit: 200, windowMs: 1_000 } },
  hosts: {
    rest: 'https://external-api.kalshi.com',
    stream: 'wss://external-api-ws.kalshi.com',
  },
  renewAfterMs: null,
}

const POLLED = { via: 'poll', everyMs: 30_000 } as const

/** Without an API key there is no stream: figures come with the list of contracts, trades are requested after it. */
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

/** What one ordinary request costs. */
export const QUESTION_TOKENS = 10

export const KALSHI_TIMES = {
  catalogueEveryMs: 30_000,
  /** A contract is followed from so long before it opens until so long after it closes. */
  followBeforeOpenMs: 15 * MINUTE_MS,
  followAfterCloseMs: MINUTE_MS,
  resolveAfterMs: 5_000,
  resolveEveryMs: 10_000,
  /** After so long unresolved it is asked about less often, and in the end no more. */
  resolvePatienceMs: 10 * MINUTE_MS,
  resolveSlowlyMs: MINUTE_MS,
  resolveForMs: 24 * 60 * MINUTE_MS,
  sweepAfterCloseMs: MINUTE_MS,
  /**
   * Contracts whose volume has changed are swept so often, with at most so many questions a second; a sweep begins
   * so long before the end of the last one.
   */
  roundEveryMs: 4 * MINUTE_MS,
  roundOverlapMs: 10 * MINUTE_MS,
  roundPerSecond: 6,
  /** Two sequence gaps within this time cost the socket. */
  secondGapMs: MINUTE_MS,
  /**
   * A book that was lost just after it was asked for, a book or a reply that does not come: asked for again so much
   * later; given up after so long.
   */
  askSoonMs: 2_000,
  askAgainMs: 10_000,
  hopelessMs: 30_000,
  /** A socket that was given up for that is followed by one with twice the patience, so often at most. */
  patienceDoublings: 3,
  /** While the venue leaves a question unanswered for so long it is slow, not silent: no wait counts, up to this. */
  slowAnswerMs: 2_000,
  maxSlownessMs: 3 * MINUTE_MS,
  /** A contract that the venue does not know yet, or whose book does not come, is left out for so long. */
  setAsideMs: MINUTE_MS,
  /** A change that arrives so much later than others: the book was wrong meanwhile. */
  lateMs: 10_000,
  /** Figures that report another top than the book so often, for so long, prove it wrong. */
  topDiffersMs: 30_000,
  topReports: 5,
  /** A socket without even a ping: the venue sends one every 10 s. */
  trafficSilenceMs: 25_000,
  /**
   * Without credentials there is no socket, and books are asked for instead: the quarter-hour contracts at this
   * step, all others in turn with at most so many questions a second (about one round a minute). A book that was not
   * answered for so long is lost: its round takes longer, or answers do not come.
   */
  pollQuickMs: 5_000,
  quickHoldsMs: 15_000,
  pollOthersPerSecond: 8,
  pollSlowMs: 45_000,
  slowHoldsMs: MINUTE_MS,
} as const

/** The venue refuses longer lists in one subscription. */
export const TICKERS_PER_SUBSCRIPTION = 200
/** Contracts followed per symbol at most, those that close first before the others. */
export const TICKERS_PER_SYMBOL = 1_000

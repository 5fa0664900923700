/**
 * The port of a venue: one exchange, market or oracle behind the same interface.
 *
 *   describe      what it has, how quiet it may be, how far back it goes, how many requests it allows
 *   live          typed observations as they arrive, with connection changes among them
 *   history       the past, page by page, each page with the range that it settles
 *   witness       the newest data according to REST, independently of the socket
 *   check         one line for the operator: is it reachable and does it trade
 *
 * A venue never decides what is stored and never hides a gap.
 */

import type { WebSocket } from 'ws'
import type { CandleInterval } from '../core/interval.ts'
import type { Source } from '../core/source.ts'
import type { AssetSymbol } from '../core/symbol.ts'
import type { Clock } from '../kit/clock.ts'
import type { Channel, Topic } from './channel.ts'
import type { DeadLetter, DeadLetters } from './dead-letter.ts'
import type { DataObservation, Observation } from './observation.ts'
import type { Fetch } from './rest/http.ts'
import type { SentWeight } from './rest/sent-weight.ts'
import type { RequestBudget } from './rest/weight-budget.ts'

/** Half open: includes `fromMs`, excludes `toMs`. */
export interface HistoryRange {
  readonly fromMs: number
  readonly toMs: number
}

export interface LiveDescription {
  /** Candles only. */
  readonly intervals?: readonly CandleInterval[]
  /** The longest silence of this feed in normal operation; null where any silence is normal. */
  readonly maxSilenceMs: number | null
  /** For candles, where the venue sends some intervals more often than others. */
  readonly maxSilenceByInterval?: Readonly<Partial<Record<CandleInterval, number>>>
  readonly via: 'stream' | 'poll'
  /** Polls only: the pause between two requests. */
  readonly everyMs?: number
}

interface HistoryDescription {
  readonly intervals?: readonly CandleInterval[]
  /** How far back the venue's history reaches from its present time; null without a documented limit. */
  readonly maxAgeMs: number | null
}

export interface VenueDescription {
  /** The folder's name: `binance-spot`. */
  readonly name: string
  readonly source: Source
  /** Maps each symbol to the venue's own name. */
  readonly symbols: Readonly<Partial<Record<AssetSymbol, string>>>
  readonly live: Readonly<Partial<Record<Topic, LiveDescription>>>
  readonly history: Readonly<Partial<Record<Topic, HistoryDescription>>>
  /** Topics that are only available live, not as history, with the reason. */
  readonly notProvided: Readonly<Partial<Record<Topic, string>>>
  readonly budgets: Readonly<Record<string, RequestBudget>>
  readonly hosts: VenueHosts
  /** Age at which a socket is renewed, before the venue would cut it; null where the venue never cuts. */
  readonly renewAfterMs: number | null
  /** Oracles: the longest pause between two answers in normal operation. */
  readonly heartbeatMs?: number
  /** Younger data may still be replaced, as blocks of a chain are; omitted where nothing is ever replaced. */
  readonly settlesAfterMs?: number
}

/** Base URLs without a trailing slash. Defaults are the real hosts; tests and the sandbox use loopback addresses. */
export interface VenueHosts {
  readonly rest: string
  readonly stream: string
}

export interface LiveOptions {
  readonly signal: AbortSignal
  /** Overrides the described silences, for venues that are faster (a sandbox) or slower than usual. */
  readonly maxSilenceMs?: Partial<Record<Topic, number | null>>
}

export interface LiveSession extends AsyncIterable<Observation> {
  /** The same observations in batches of what is waiting. A session has one consumer, which uses either form. */
  batches(): AsyncIterable<readonly Observation[]>
  /**
   * Replaces the socket that carries the channel, after the witness confirmed that its silence is a fault. Has no
   * effect for a while after the last replacement; this pause grows until the channel sends data.
   */
  reconnect(channel: Channel, reason: string): void
  stats(): LiveStats
  close(): Promise<void>
}

interface LiveStats {
  readonly frames: number
  readonly observations: number
  readonly repeats: number
  readonly ignored: number
  readonly malformed: number
  readonly connects: number
  readonly disconnects: number
  readonly renewals: number
  readonly pollFailures: number
  readonly queued: number
  /** Sockets that were dialled and have not closed yet. */
  readonly sockets: number
  /** Number of routes; each normally has one open socket. */
  readonly routes: number
  /** Whether reading is paused because the consumer is behind. */
  readonly paused: boolean
}

export interface HistoryRequest {
  readonly topic: Topic
  readonly symbol: AssetSymbol
  /** Required for candles; optional for open interest where the venue samples it (its finest by default). */
  readonly interval?: CandleInterval
  readonly range: HistoryRange
  /** Prediction markets: the id of the market; required for everything but the catalogue. */
  readonly market?: string
  /** Aggregate trades: start right after this id instead of at the start of the range. */
  readonly afterId?: number
  /** Needed for live data, so the request may use the share of the budget that history walks leave free. */
  readonly isUrgent?: boolean
}

/**
 * Pages ascend. The `covered` and `missing` ranges of all pages together are exactly the requested range, except for a
 * part that the venue has not closed yet: such a walk ends at the venue's present time.
 */
export interface HistoryPage {
  readonly observations: readonly DataObservation[]
  /** According to the venue, nothing but `observations` happened in this range. */
  readonly covered: HistoryRange | null
  readonly missing: readonly { readonly range: HistoryRange; readonly reason: 'not_provided' }[]
}

export interface Witness {
  /**
   * Time of the venue's newest data for the channel (candles: the open time of the newest one); null without a time.
   */
  readonly newestMs: number | null
  /** The newest id or update number of the channel (candles: the trade count of the newest one); null without one. */
  readonly newestId: number | null
}

export interface CheckResult {
  readonly venue: string
  readonly ok: boolean
  /** One line for the operator. */
  readonly line: string
}

/** For the operator: the venue works, but not as well as it could. */
export interface VenueNotice {
  readonly venue: string
  readonly code: 'credentials_missing' | 'credentials_invalid' | 'credentials_rejected' | 'coin_not_listed'
  /** One line for the operator: what is missing and what the consequence is. */
  readonly line: string
}

export interface Venue {
  readonly describe: VenueDescription
  /** Current notices; omitted by venues that have none. */
  readonly notices?: readonly VenueNotice[]
  readonly deadLetters: DeadLetters
  /** Throws before any socket is opened if a channel is not in the description. */
  live(channels: readonly Channel[], options: LiveOptions): LiveSession
  history(request: HistoryRequest, options: { signal: AbortSignal }): AsyncIterable<HistoryPage>
  /** Undefined where no independent source exists (liquidations). */
  witness(channel: Channel, options: { signal: AbortSignal }): Promise<Witness | undefined>
  check(options: { signal: AbortSignal }): Promise<CheckResult>
  /** What was sent in the current window of each budget; omitted where nothing is counted. */
  sentWeight?(): readonly SentWeight[]
}

/** Dependencies of every venue factory. All but the clock default to the real ones. */
export interface VenueDependencies {
  readonly clock: Clock
  readonly hosts?: Partial<VenueHosts>
  readonly fetch?: Fetch
  readonly dial?: Dial
  readonly random?: () => number
  readonly onDeadLetter?: (letter: DeadLetter) => void
}

/** The headers are sent with the upgrade request, for venues that require a signature there. */
export type Dial = (url: string, headers?: Readonly<Record<string, string>>) => WebSocket

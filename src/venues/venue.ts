/**
 * The port of a venue: one exchange, market or oracle behind the same interface.
 *
 *   describe      what it has, how quiet it may be, how far back it goes, how many requests it allows
 *   live          listen: typed observations as they come, connection changes among them
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

/** Half open: from is inside, to is not. */
export interface HistoryRange {
  readonly fromMs: number
  readonly toMs: number
}

export interface LiveDescription {
  /** Candles only. */
  readonly intervals?: readonly CandleInterval[]
  /** The longest time this feed is silent while all is well; null where any silence is normal. */
  readonly maxSilenceMs: number | null
  /** Candles of which some intervals are sent more often than the others. */
  readonly maxSilenceByInterval?: Readonly<Partial<Record<CandleInterval, number>>>
  readonly via: 'stream' | 'poll'
  /** Polls only: the pause between two requests. */
  readonly everyMs?: number
}

interface HistoryDescription {
  readonly intervals?: readonly CandleInterval[]
  /** How far back the venue answers, counted from its present; null without a documented limit. */
  readonly maxAgeMs: number | null
}

export interface VenueDescription {
  /** The folder's name: `binance-spot`. */
  readonly name: string
  readonly source: Source
  /** Symbol → the venue's own name of it. */
  readonly symbols: Readonly<Partial<Record<AssetSymbol, string>>>
  readonly live: Readonly<Partial<Record<Topic, LiveDescription>>>
  readonly history: Readonly<Partial<Record<Topic, HistoryDescription>>>
  /** Topics that are only available live, not as history, with the reason. */
  readonly notProvided: Readonly<Partial<Record<Topic, string>>>
  readonly budgets: Readonly<Record<string, RequestBudget>>
  readonly hosts: VenueHosts
  /** Planned renewal of a socket, before the venue's own cut; null where the venue cuts nothing. */
  readonly renewAfterMs: number | null
  /** Oracles: the longest pause between two answers while all is well. */
  readonly heartbeatMs?: number
}

/** Base URLs without a trailing slash. Defaults are the real hosts; tests and the sandbox give loopback ones. */
export interface VenueHosts {
  readonly rest: string
  readonly stream: string
}

export interface LiveOptions {
  readonly signal: AbortSignal
  /** Overrides the described silences, for venues that are quicker (a sandbox) or slower than usual. */
  readonly maxSilenceMs?: Partial<Record<Topic, number | null>>
}

export interface LiveSession extends AsyncIterable<Observation> {
  /** The same observations, as many at a time as are waiting. One consumer per session, by either way. */
  batches(): AsyncIterable<readonly Observation[]>
  /**
   * Replaces the socket that carries the channel, new before old. For a silence that the witness confirmed; without
   * effect for a while after the last replacement; the pause grows until the channel sends data.
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
  /** Sockets that were dialled and have not ended. */
  readonly sockets: number
  /** Places that sockets are open to. */
  readonly routes: number
  /** Whether reading is stopped because the consumer is behind. */
  readonly paused: boolean
}

export interface HistoryRequest {
  readonly topic: Topic
  readonly symbol: AssetSymbol
  /** Candles always; open interest where the venue samples it (default its finest). */
  readonly interval?: CandleInterval
  readonly range: HistoryRange
  /** Prediction markets: which market, by its id; needed for everything but the catalogue itself. */
  readonly market?: string
  /** Aggregate trades: start right after this id instead of at the range's start. */
  readonly afterId?: number
  /** Needed for the present: it may use the share of the budget that walks through the past leave free. */
  readonly isUrgent?: boolean
}

/**
 * Pages ascend. `covered` ranges and `missing` ranges of all pages together are exactly the asked range, except
 * for the part that is not closed yet at the venue: a walk that ends early ends where the venue's present is.
 */
export interface HistoryPage {
  readonly observations: readonly DataObservation[]
  /** According to the venue, nothing else than `observations` happened in this range. */
  readonly covered: HistoryRange | null
  readonly missing: readonly { readonly range: HistoryRange; readonly reason: 'not_provided' }[]
}

export interface Witness {
  /** The newest data the venue has for the channel (candles: the open time of the newest one); null without a time. */
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
  readonly code: 'credentials_missing' | 'credentials_invalid' | 'credentials_rejected'
  /** One line for the operator: what is missing, and what that costs. */
  readonly line: string
}

export interface Venue {
  readonly describe: VenueDescription
  /** As of now; left out where there are none. */
  readonly notices?: readonly VenueNotice[]
  readonly deadLetters: DeadLetters
  /** Throws before any socket is opened when a channel is not in the description. */
  live(channels: readonly Channel[], options: LiveOptions): LiveSession
  history(request: HistoryRequest, options: { signal: AbortSignal }): AsyncIterable<HistoryPage>
  /** Undefined where no independent answer exists (liquidations). */
  witness(channel: Channel, options: { signal: AbortSignal }): Promise<Witness | undefined>
  check(options: { signal: AbortSignal }): Promise<CheckResult>
  /** What was sent in the present window of each budget; left out where nothing is counted. */
  sentWeight?(): readonly SentWeight[]
}

/** What every venue factory takes. All but the clock have live defaults. */
export interface VenueDependencies {
  readonly clock: Clock
  readonly hosts?: Partial<VenueHosts>
  readonly fetch?: Fetch
  readonly dial?: Dial
  readonly random?: () => number
  readonly onDeadLetter?: (letter: DeadLetter) => void
}

/** Headers go with the upgrade request, for venues that require a signature there. */
export type Dial = (url: string, headers?: Readonly<Record<string, string>>) => WebSocket

/**
 * What the public status page shows. Anybody may request it, so visitors never cause more work than one answer every
 * few seconds and one read of the last days every few minutes. The history is read in the background.
 */
import type { NoticeRecord, Notices } from '../../accounts/notices.ts'
import type { Uptime, UptimeDay } from '../../accounts/uptime.ts'
import type { Environment } from '../../core/environment.ts'
import type { Source } from '../../core/source.ts'
import { type Clock, elapsedMs } from '../../kit/clock.ts'
import type { Logger } from '../../kit/log.ts'

export const STATUS_DAYS = 90

export interface SourceHistory {
  readonly source: Source
  readonly days: readonly ({ readonly missedMs: number; readonly lengthMs: number } | null)[]
  readonly datasets: readonly {
    readonly dataset: string
    readonly interval: string | null
    readonly missedMs: number
  }[]
}

interface LiveState {
  readonly status: 'ok' | 'degraded' | 'down'
  readonly sources: readonly { readonly source: Source; readonly status: 'healthy' | 'stale' | 'down' }[]
  readonly nodes: { readonly synced: number; readonly all: number }
}

export interface EnvironmentFacts {
  readonly environment: Environment
  /** Undefined if the service cannot read its own state. */
  readonly live: LiveState | undefined
  /** Undefined until they have been read once. */
  readonly sources: readonly SourceHistory[] | undefined
}

export interface StatusFacts {
  readonly atMs: number
  /** The live environment comes first. */
  readonly environments: readonly EnvironmentFacts[]
  readonly uptime: readonly (UptimeDay | null)[] | undefined
  /** Whether the history is being read, so that missing parts will follow soon. */
  readonly isReading: boolean
  readonly notices: readonly NoticeRecord[]
}

/** Where the facts of an environment come from. */
export interface EnvironmentState {
  readonly environment: Environment
  readonly live: () => Promise<LiveState>
  readonly historyOf: (sources: readonly Source[]) => Promise<readonly SourceHistory[]>
}

export interface StatusFactsDeps {
  readonly environments: readonly EnvironmentState[]
  readonly uptime: Uptime
  readonly notices: Notices
  readonly clock: Clock
  readonly log: Logger
}

const HISTORY_FRESH_MS = 5 * 60_000
const UNFINISHED_FRESH_MS = 15_000
/** How long the first visitor waits for the history. */
const FIRST_WAIT_MS = 2_000

export function statusFacts(deps: StatusFactsDeps): () => Promise<StatusFacts> {
  const { clock, log } = deps
  let history:
    | { sources: Map<Environment, readonly SourceHistory[]>; uptime: StatusFacts['uptime'] }
    | undefined
  let readAtMs = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined

  /** Reads one environment after the other, because visitors can wait and recorders need the processor. */
  async function historyOf(states: readonly Pick<EnvironmentFacts, 'environment' | 'live'>[]) {
    const sources = new Map<Environment, readonly SourceHistory[]>()
    for (const [index, { environment, live }] of states.entries()) {
      const names = live?.sources.map(({ source }) => source)
      const read = deps.environments[index]?.historyOf
      if (names !== undefined && read !== undefined) sources.set(environment, await read(names))
    }
    return sources
  }
  /**
   * Recorders report their sources some seconds after the start. A history that could not be read is incomplete, too.
   */
  const isWhole = (states: readonly Pick<EnvironmentFacts, 'environment' | 'live'>[]) =>
    states.every(({ environment, live }) => {
      const known = history?.sources.get(environment)
      return (live?.sources ?? []).every(({ source }) => known?.some((one) => one.source === source) ?? false)
    })
  function readHistory(states: readonly Pick<EnvironmentFacts, 'environment' | 'live'>[]): void {
    const freshMs = isWhole(states) ? HISTORY_FRESH_MS : UNFINISHED_FRESH_MS
    if (reading !== undefined || elapsedMs(clock) - readAtMs < freshMs) return
    readAtMs = elapsedMs(clock)
    reading = Promise.all([historyOf(states), deps.uptime.days(STATUS_DAYS)])
      .then(([sources, uptime]) => {
        history = { sources, uptime }
      })
      .catch((err) => log.warn({ err }, 'the history of gaps could not be read for the status page'))
      .finally(() => {
        reading = undefined
      })
  }

  const orUndefined = <T>(part: Promise<T>): Promise<T | undefined> =>
    part.catch((err) => {
      log.warn({ err }, 'a part of the status page could not be read')
      return undefined
    })

  return async () => {
    const [states, notices] = await Promise.all([
      Promise.all(
        deps.environments.map(async ({ environment, live }) => ({
          environment,
          live: await orUndefined(live()),
        })),
      ),
      orUndefined(deps.notices.list()),
    ])
    if (states.some(({ live }) => live !== undefined)) readHistory(states)
    if (history === undefined && reading !== undefined) await waitFor(reading, clock)
    return {
      atMs: clock.now(),
      environments: states.map((state) => ({ ...state, sources: history?.sources.get(state.environment) })),
      uptime: history?.uptime,
      isReading: reading !== undefined,
      notices: notices ?? [],
    }
  }
}

async function waitFor(work: Promise<void>, clock: Clock): Promise<void> {
  const waiting = new AbortController()
  await Promise.race([work, clock.sleep(FIRST_WAIT_MS, waiting.signal).catch(() => {})])
  waiting.abort()
}

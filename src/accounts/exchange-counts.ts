import { type Clock, elapsedMs, runEvery } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { OwnCount, SharedCounts } from '../store/shared-counts.ts'

/**
 * Exchanges counts with the other processes on a store, ten times a second while they are used. Between exchanges, and
 * before the first, a process knows only its own counts, so for that moment a limit may be exceeded up to limit ×
 * processes.
 */
const EXCHANGE_MS = 100
/** Interval without requests, so that the others still know how many processes share limits and what is held here. */
const IDLE_EXCHANGE_MS = 1_000
/** Without an exchange for this long, the counts of the others are outdated. */
const MAX_AGE_MS = 2_000
/** A count takes part in every exchange for this long after its last use. */
const ACTIVE_MS = 2_000
/** Maximum number of items per exchange; the rest follows with the next. */
const MAX_EXCHANGED = 1_000
/** The clocks of process and store are compared with every exchange; smaller differences come from network latency. */
const MIN_CLOCK_STEP_MS = 50

export interface Exchanged {
  own(storeMs: number): readonly OwnCount[]
  learn(count: OwnCount, others: number): void
  /** Whether something without an end in time is counted, which is exchanged even if nobody asks for it. */
  readonly isHeld: boolean
  /** Called when the item is no longer exchanged because its last use was too long ago. */
  dropped?(): void
}

export interface CountExchange {
  /** Notes that the item was asked for or has changed. */
  use(item: Exchanged): void
  /** The part of a limit that may be used without knowing the others' counts; undefined while they are known. */
  partOf(limit: number): number | undefined
  /** The number of processes at the last exchange. */
  readonly processes: number
  /** The time of the store's clock. */
  storeMs(nowMs: number): number
  close(): void
}

const nameOf = ({ name, windowStartMs }: OwnCount) => `${name} ${windowStartMs}`

/** After a change of its plan, an account briefly has two counters, but the store takes only one count per name. */
function summed(counts: readonly OwnCount[]): OwnCount[] {
  const sums = new Map<string, OwnCount>()
  for (const each of counts) {
    const { name, windowStartMs } = each
    const before = sums.get(nameOf(each))
    const count = (before?.count ?? 0) + each.count
    sums.set(nameOf(each), {
      name,
      windowStartMs,
      count,
      validMs: Math.max(before?.validMs ?? 0, each.validMs),
    })
  }
  return [...sums.values()]
}

export function exchangeCounts(deps: {
  store: SharedCounts
  /** Identifies this run of this process. */
  holder: string
  clock: Clock
  log: Logger
}): CountExchange {
  const { store, holder, clock, log } = deps
  const items = new Map<Exchanged, { usedAtMs: number; sentAtMs: number }>()
  /** How far the store's clock is ahead of ours. */
  let aheadMs = 0
  let processes = 1
  let exchangedAtMs = elapsedMs(clock)
  let isRunning = false
  let isAway = false
  let isClosed = false

  const nextItems = (nowMs: number): Exchanged[] => {
    const next: Exchanged[] = []
    for (const [item, times] of items) {
      const isUsed = nowMs - times.usedAtMs < ACTIVE_MS || times.sentAtMs <= times.usedAtMs
      if (!isUsed && !item.isHeld) {
        items.delete(item)
        item.dropped?.()
      } else if (next.length < MAX_EXCHANGED && (isUsed || nowMs - times.sentAtMs >= IDLE_EXCHANGE_MS)) {
        next.push(item)
      }
    }
    // Moved to the end, so that all items get their turn even if there are more than one exchange takes.
    for (const item of next) {
      const times = items.get(item)
      if (times === undefined) continue
      times.sentAtMs = nowMs
      items.delete(item)
      items.set(item, times)
    }
    return next
  }
  const exchange = async () => {
    const sentAtMs = clock.now()
    const sent = nextItems(elapsedMs(clock)).flatMap((item) =>
      item.own(sentAtMs + aheadMs).map((count) => ({ item, count })),
    )
    const counts = summed(sent.map(({ count }) => count))
    const places = new Map(counts.map((count, place) => [nameOf(count), place]))
    const answer = await store.exchangeCounts({ holder, counts })
    for (const { item, count } of sent) item.learn(count, answer.others[places.get(nameOf(count)) ?? -1] ?? 0)
    processes = answer.processes
    const measuredMs = answer.nowMs - (sentAtMs + clock.now()) / 2
    if (Math.abs(measuredMs - aheadMs) > MIN_CLOCK_STEP_MS) aheadMs = measuredMs
    exchangedAtMs = elapsedMs(clock)
  }
  const exchangeOnce = async () => {
    if (isRunning) return
    if (items.size === 0 && elapsedMs(clock) - exchangedAtMs < IDLE_EXCHANGE_MS) return
    isRunning = true
    try {
      await exchange()
      if (isAway) log.info({ processes }, 'limits are shared with the other processes again')
      isAway = false
    } catch (err) {
      if (!isAway && !isClosed)
        log.warn({ err, processes }, 'limits cannot be shared now: each process allows its part of them')
      isAway = true
    } finally {
      isRunning = false
    }
  }
  const stop = runEvery(clock, EXCHANGE_MS, () => void exchangeOnce())

  return {
    use(item) {
      const usedAtMs = elapsedMs(clock)
      const times = items.get(item)
      if (times === undefined) items.set(item, { usedAtMs, sentAtMs: Number.NEGATIVE_INFINITY })
      else times.usedAtMs = usedAtMs
    },
    partOf: (limit) =>
      elapsedMs(clock) - exchangedAtMs < MAX_AGE_MS
        ? undefined
        : Math.min(limit, Math.max(1, Math.floor(limit / processes))),
    get processes() {
      return processes
    },
    storeMs: (nowMs) => nowMs + aheadMs,
    close() {
      isClosed = true
      stop()
    },
  }
}

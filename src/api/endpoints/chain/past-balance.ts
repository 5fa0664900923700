/**
 * What an address had at a past time: what a node says it has now, less what the index has recorded since.
 *
 *   rows of the last minute ─▶ the node's balance and blue score ─▶ until the index is past that score ─▶ rows again
 *            ▲                                                                                              │
 *            └────────────── not the same: something moved while the two were compared ◀────────────────────┘
 *
 * The node counts what the next chain block will accept, and the index follows a moment later: the two may be
 * subtracted only if nothing of the address moved in between.
 */
import { ApiError } from '../../../core/errors.ts'
import { type Clock, elapsedMs } from '../../../kit/clock.ts'
import { nextTurn } from '../../../kit/time-slices.ts'
import type { ChainStore, HistoryPlace } from '../../../store/chain.ts'
import type { Upstreams } from '../../../upstreams/pool.ts'
import { nodeTime } from './node-time.ts'
import { unusableAnswer, upstreamError } from './upstream-error.ts'

export interface PastBalances {
  /** In sompi, with every confirmed transaction whose block has that time or an earlier one. */
  at(address: string, timeMs: number): Promise<bigint>
}

/** A transaction is accepted within seconds of its block's time. */
const RECENT_MS = 60_000
/** What a node counts has been accepted that many blue blocks later. */
const SCORE_MARGIN = 5
const LOOK_MS = 50
const ROWS_AT_A_TIME = 1_000
const MAX_ROWS = 500_000
const RETRY_SECONDS = 2

interface Moved {
  readonly received: bigint
  readonly sent: bigint
  readonly rows: number
}

export function createPastBalances(deps: {
  upstreams: Pick<Upstreams, 'call'>
  index: Pick<ChainStore, 'checkpoint' | 'coverageFromMs' | 'indexedFromMs' | 'gaps' | 'addressMoved'>
  clock: Clock
  waitMs: number
}): PastBalances {
  const { upstreams, index, clock, waitMs } = deps

  async function movedAfter(address: string, afterMs: number): Promise<Moved> {
    const sum = { received: 0n, sent: 0n, rows: 0 }
    for (let after: HistoryPlace | undefined; ; ) {
      const step = await index.addressMoved({
        ...{ address, afterMs, limit: ROWS_AT_A_TIME },
        ...(after === undefined ? {} : { after }),
      })
      sum.received += step.received
      sum.sent += step.sent
      sum.rows += step.rows
      after = step.next
      if (after === undefined) return sum
      if (sum.rows > MAX_ROWS) throw tooManyRows()
      await nextTurn()
    }
  }

  async function ask(method: string, params: object, prefer?: string) {
    const outcome = await upstreams.call(method, params, { deadlineMs: waitMs, prefer })
    if (!outcome.ok) throw upstreamError(outcome.failure)
    return outcome as { node: string; value: Record<string, unknown> } & typeof outcome
  }

  /** The node's balance less the rows of the index since then, both of one moment. */
  async function balanceAt(address: string, timeMs: number): Promise<bigint> {
    const startedMs = elapsedMs(clock)
    const isOver = () => elapsedMs(clock) - startedMs > waitMs
    do {
      const recentMs = clock.now() - RECENT_MS
      const before = await movedAfter(address, recentMs)
      const { value, node } = await ask('getBalanceByAddress', { address })
      const sink = await ask('getSinkBlueScore', {}, node)
      const score = Number(sink.value.blueScore)
      if (!isAmount(value.balance) || !Number.isSafeInteger(score)) throw unusableAnswer(node, 'balance')
      while (((await index.checkpoint())?.blueScore ?? 0) < score + SCORE_MARGIN) {
        if (isOver()) throw notNow('index_behind', 'The index has not caught up with the nodes.')
        await clock.sleep(LOOK_MS)
      }
      const since = await movedAfter(address, timeMs)
      const after = await movedAfter(address, recentMs)
      const isSame =
        after.rows === before.rows && after.received === before.received && after.sent === before.sent
      if (isSame) return BigInt(value.balance) - since.received + since.sent
    } while (!isOver())
    throw notNow(
      'address_busy',
      'The address has new transactions all the time; its balance never stood still.',
    )
  }

  return {
    async at(address, timeMs) {
      if (timeMs > clock.now()) throw wrongTime('at is in the future.', 'future', {})
      await requireCovered(index, timeMs)
      const balance = await balanceAt(address, timeMs)
      // A gap may have been recorded meanwhile.
      await requireCovered(index, timeMs)
      return balance
    },
  }
}

function isAmount(value: unknown): value is number | bigint {
  return typeof value === 'bigint' || Number.isSafeInteger(value)
}

async function requireCovered(
  index: Pick<ChainStore, 'coverageFromMs' | 'indexedFromMs' | 'gaps'>,
  timeMs: number,
): Promise<void> {
  const coverageFromMs = await index.coverageFromMs()
  if (coverageFromMs === undefined) throw notNow('index_behind', 'Nothing has been indexed yet.')
  if (timeMs >= coverageFromMs) return
  const earliest = nodeTime(coverageFromMs) ?? ''
  const known = { earliest_start: earliest }
  const gap = (await index.gaps()).findLast(
    ({ reason, toTimeMs }) => reason !== 'blocks_pruned' && toTimeMs >= timeMs,
  )
  if (gap === undefined || timeMs < ((await index.indexedFromMs()) ?? 0))
    throw wrongTime(`at is before the index begins, at ${earliest}.`, 'before_coverage', known)
  throw wrongTime(
    `The index has a gap between ${nodeTime(gap.fromTimeMs)} and ${nodeTime(gap.toTimeMs)} (${gap.reason}): balances are known from ${earliest} on.`,
    'gap',
    known,
  )
}

function wrongTime(message: string, reason: string, detail: Record<string, unknown>): ApiError {
  return new ApiError('invalid_time_range', message, { param: 'at', reason, ...detail })
}

function tooManyRows(): ApiError {
  const message = `The address has more than ${MAX_ROWS.toLocaleString('en')} transactions since at.`
  return new ApiError('invalid_param', message, { param: 'at', reason: 'too_many_rows' })
}

function notNow(reason: string, message: string): ApiError {
  return new ApiError('upstream_unavailable', message, { reason, retry_after: RETRY_SECONDS }, [
    ['Retry-After', String(RETRY_SECONDS)],
  ])
}

/**
 * The balance of an address at a past time: what a node reports now, minus what the index has recorded since.
 *
 *   rows of the last minute ─▶ balance and blue score of a node that is as far as the index ─▶ wait until the index is
 *            ▲                                                               past that score ─▶ the same rows again
 *            └────────────── rows differ: something moved while the two were compared ◀──────────────┘
 *
 * The node counts what the next chain block will accept, and the index follows a moment later, so the two may be
 * subtracted only if nothing of the address moved in between. A node that is behind the index has not counted yet what
 * would be subtracted.
 */

import { isAmount } from '../../../core/chain/is-amount.ts'
import { ApiError } from '../../../core/errors.ts'
import { type Clock, elapsedMs } from '../../../kit/clock.ts'
import { nextTurn } from '../../../kit/time-slices.ts'
import type { ChainStore, HistoryPlace } from '../../../store/chain.ts'
import type { Upstreams } from '../../../upstreams/pool.ts'
import { furthestNode } from './balance-node.ts'
import { nodeTime } from './node-time.ts'
import { notNow, notOfOneNode, unusableAnswer, upstreamError } from './upstream-error.ts'

export interface PastBalances {
  /** In sompi, including every confirmed transaction whose block has this time or an earlier one. */
  at(address: string, timeMs: number, isGone?: () => boolean): Promise<bigint>
}

/** A transaction is accepted within seconds of its block's time. */
const RECENT_MS = 60_000
/** Everything that a node counts has been accepted this many blue blocks later. */
const SCORE_MARGIN = 5
const LOOK_MS = 50
/** Gives up after this many rounds whose three calls were answered by different nodes. */
const MAX_MIXED_ROUNDS = 3
const ROWS_AT_A_TIME = 1_000
const MAX_ROWS = 500_000

interface Moved {
  readonly received: bigint
  readonly sent: bigint
  readonly rows: number
}

export function createPastBalances(deps: {
  upstreams: Pick<Upstreams, 'call' | 'nodes'>
  index: Pick<ChainStore, 'checkpoint' | 'coverageFromMs' | 'indexedFromMs' | 'gaps' | 'addressMoved'>
  clock: Clock
  waitMs: number
}): PastBalances {
  const { upstreams, index, clock, waitMs } = deps

  async function movedAfter(address: string, afterMs: number, isOver: () => boolean): Promise<Moved> {
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
      if (isOver()) throw notNow('address_busy', 'Its transactions since at could not be added up in time.')
      await nextTurn()
    }
  }

  async function ask(method: string, params: object, stayOn: string | undefined) {
    const outcome = await upstreams.call(method, params, { deadlineMs: waitMs, stayOn })
    if (!outcome.ok) throw upstreamError(outcome.failure)
    return outcome as { node: string; value: Record<string, unknown> } & typeof outcome
  }

  /** The balance on one node, with its blue score before and after. */
  async function balanceOf(address: string, stayOn: string | undefined) {
    const first = await ask('getSinkBlueScore', {}, stayOn)
    const { value, node } = await ask('getBalanceByAddress', { address }, first.node)
    const last = await ask('getSinkBlueScore', {}, node)
    const [fromScore, toScore] = [Number(first.value.blueScore), Number(last.value.blueScore)]
    const hasScores = Number.isSafeInteger(fromScore) && Number.isSafeInteger(toScore)
    if (!isAmount(value.balance) || !hasScores) throw unusableAnswer(node, 'balance')
    const isOfOne = first.node === node && last.node === node
    return { balance: BigInt(value.balance), node, fromScore, toScore, isOfOne }
  }

  /** The node's balance minus the rows that the index has recorded since then, both from the same moment. */
  async function balanceAt(address: string, timeMs: number, isGone = () => false): Promise<bigint> {
    const startedMs = elapsedMs(clock)
    const isOver = () => elapsedMs(clock) - startedMs > waitMs || isGone()
    let failed: ApiError
    let stayOn = furthestNode(upstreams.nodes())
    let mixedRounds = 0
    do {
      const recentMs = clock.now() - RECENT_MS
      const before = await movedAfter(address, recentMs, isOver)
      const indexed = (await index.checkpoint())?.blueScore ?? 0
      const { balance, node, fromScore, toScore, isOfOne } = await balanceOf(address, stayOn)
      if (!isOfOne) {
        if (++mixedRounds >= MAX_MIXED_ROUNDS) throw notOfOneNode()
        stayOn = node
        failed = notOfOneNode()
        continue
      }
      if (fromScore < indexed) {
        stayOn = furthestNode(upstreams.nodes(), { alsoBackups: true })
        failed = notNow('nodes_behind', 'No node is as far as the index.')
        await clock.sleep(LOOK_MS)
        continue
      }
      while (((await index.checkpoint())?.blueScore ?? 0) < toScore + SCORE_MARGIN) {
        if (isOver()) throw notNow('index_behind', 'The index has not caught up with the nodes.')
        await clock.sleep(LOOK_MS)
      }
      const since = await movedAfter(address, timeMs, isOver)
      const after = await movedAfter(address, recentMs, isOver)
      const isSame =
        after.rows === before.rows && after.received === before.received && after.sent === before.sent
      if (isSame) return balance - since.received + since.sent
      failed = notNow(
        'address_busy',
        'The address has new transactions all the time; its balance never stood still.',
      )
    } while (!isOver())
    throw failed
  }

  return {
    async at(address, timeMs, isGone) {
      if (timeMs > clock.now()) throw wrongTime('at is in the future.', 'future', {})
      await requireCovered(index, timeMs)
      const balance = await balanceAt(address, timeMs, isGone)
      // A gap may have been recorded in the meantime.
      await requireCovered(index, timeMs)
      return balance
    },
  }
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

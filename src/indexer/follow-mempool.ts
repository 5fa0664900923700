/**
 * Polls the whole mempool, because the node has no notification for it. While transactions flow, a poll follows
 * after four times as long as the last one took, but no sooner than `minMs` and no later than `flowMs`. A node that
 * needs longer than `flowMs` per poll is polled half of the time.
 */
import type { Clock } from '../kit/clock.ts'
import type { ChainQueries } from '../relay/chain-queries.ts'
import { answerReader } from './answer-reader.ts'
import type { Indexer } from './indexer.ts'

export interface MempoolPace {
  /** Bounds for the time between the starts of two polls while transactions flow and the node answers in time. */
  readonly minMs: number
  readonly flowMs: number
  readonly quietMs: number
}

/** At ten blocks per second, polling more often than once per block shows little that is new. */
export const MEMPOOL_PACE: MempoolPace = { minMs: 100, flowMs: 200, quietMs: 500 }

const TIMES_ITS_COST = 4
const TIMES_WHEN_SLOW = 2

export interface FollowMempoolOptions {
  indexer: Indexer
  queries: ChainQueries
  clock: Clock
  signal: AbortSignal
  pace: () => MempoolPace
  /** The mempool is not polled while this is false. */
  hasStart: () => boolean
  /** The name of a node's mempool; it changes when the node restarts. */
  mempoolOf: (node: string) => string
  prefer: () => string | undefined
  onWritten: (newestSeq: number) => void
  onTrouble: (detail: string) => void
}

export async function followMempool(options: FollowMempoolOptions): Promise<void> {
  const { indexer, queries, clock, signal } = options
  const read = answerReader(queries)
  while (!signal.aborted) {
    if (!options.hasStart()) {
      await clock.sleep(options.pace().minMs, signal).catch(() => {})
      continue
    }
    const startedMs = clock.now()
    let isFlowing = false
    try {
      const answer = await queries.mempool(options.prefer())
      if (answer.kind === 'bytes') {
        const { bytes, node } = answer
        const applied = await read(node, () => indexer.applyMempool(bytes, options.mempoolOf(node)))
        if (applied.newestSeq !== undefined) options.onWritten(applied.newestSeq)
        isFlowing = applied.isFlowing
      } else if (answer.kind === 'unavailable') options.onTrouble(answer.detail)
    } catch (error) {
      options.onTrouble(error instanceof Error ? error.message : String(error))
    }
    const tookMs = Math.max(0, clock.now() - startedMs)
    await clock.sleep(pauseMs(options.pace(), tookMs, isFlowing), signal).catch(() => {})
  }
}

/** The time from the end of a poll that took `tookMs` to the start of the next one. */
export function pauseMs({ minMs, flowMs, quietMs }: MempoolPace, tookMs: number, isFlowing: boolean): number {
  if (!isFlowing) return quietMs
  if (tookMs >= flowMs) return (TIMES_WHEN_SLOW - 1) * tookMs
  return Math.min(flowMs, Math.max(minMs, TIMES_ITS_COST * tookMs)) - tookMs
}

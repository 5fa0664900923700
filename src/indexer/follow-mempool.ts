/** Polls the whole mempool: the node has no notification for it. */
import type { Clock } from '../kit/clock.ts'
import type { ChainQueries } from '../relay/chain-queries.ts'
import type { Indexer } from './indexer.ts'

export interface FollowMempoolOptions {
  indexer: Indexer
  queries: ChainQueries
  clock: Clock
  signal: AbortSignal
  everyMs: number
  prefer: () => string | undefined
  onWritten: (newestSeq: number) => void
  onTrouble: (detail: string) => void
}

export async function followMempool(options: FollowMempoolOptions): Promise<void> {
  const { indexer, queries, clock, signal } = options
  while (!signal.aborted) {
    try {
      const answer = await queries.mempool(options.prefer())
      if (answer.kind === 'bytes') {
        const newestSeq = await indexer.applyMempool(answer.bytes)
        if (newestSeq !== undefined) options.onWritten(newestSeq)
      } else if (answer.kind === 'unavailable') options.onTrouble(answer.detail)
    } catch (error) {
      if (!signal.aborted) options.onTrouble(error instanceof Error ? error.message : String(error))
    }
    await clock.sleep(options.everyMs, signal).catch(() => {})
  }
}

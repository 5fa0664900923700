/**
 * The thread that reads the node's answers, parses transactions and writes the index: none of it holds the
 * API's loop. It is the only writer of index rows.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { Network } from '../core/chain/network.ts'
import { createIndexer, type Indexer } from '../indexer/indexer.ts'
import { openSqliteChain } from '../store/sqlite/chain.ts'

export interface IndexThreadData {
  file: string
  network: Network
  dropAfterMs: number
}
export interface IndexRequest {
  id: number
  operation: keyof Indexer
  args: unknown[]
}
export type IndexReply =
  | { id: number; value: unknown }
  | { id: number; error: string }
  | { unreadable: string }

if (parentPort !== null) {
  const port = parentPort
  const { file, network, dropAfterMs } = workerData as IndexThreadData
  const database = openSqliteChain({ file, inline: true })
  const indexer = createIndexer({
    chain: database.chain,
    events: database.events,
    network,
    now: () => Date.now(),
    dropAfterMs,
    onUnreadable: (unreadable) => port.postMessage({ unreadable } satisfies IndexReply),
  })
  let last: Promise<unknown> = indexer
  port.on('message', (request: IndexRequest | 'close') => {
    if (request === 'close') {
      void last.then(
        () => end(),
        () => end(),
      )
      return
    }
    last = answer(request).then((reply) => port.postMessage(reply))
  })

  async function answer({ id, operation, args }: IndexRequest): Promise<IndexReply> {
    try {
      const run = (await indexer)[operation] as (...args: unknown[]) => Promise<unknown>
      return { id, value: await run(...args) }
    } catch (error) {
      return { id, error: error instanceof Error ? error.message : String(error) }
    }
  }

  async function end(): Promise<void> {
    await database.close()
    port.close()
  }
}

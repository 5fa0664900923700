/**
 * The thread that reads the node's answers, parses transactions and writes the index: none of it holds the
 * API's loop. It is the only writer of index rows.
 */
import { workerData } from 'node:worker_threads'
import type { Network } from '../core/chain/network.ts'
import { createIndexer } from '../indexer/indexer.ts'
import { serveCalls } from '../kit/thread-calls.ts'
import { openSqliteChain } from '../store/sqlite/chain.ts'

export interface IndexThreadData {
  file: string
  network: Network
  dropAfterMs: number
}

const { file, network, dropAfterMs } = workerData as IndexThreadData
const database = openSqliteChain({ file, inline: true })
const indexer = await createIndexer({
  chain: database.chain,
  events: database.events,
  network,
  now: () => Date.now(),
  dropAfterMs,
  onUnreadable: (detail) => thread.post(detail),
})
const thread = serveCalls(indexer, { close: () => database.close() })

/**
 * The thread that reads the node's answers, parses transactions and writes the index, so that none of this blocks the
 * event loop of the API. It is the only writer of index rows.
 */
import { workerData } from 'node:worker_threads'
import type { Network } from '../core/chain/network.ts'
import type { Environment } from '../core/environment.ts'
import { createIndexer } from '../indexer/indexer.ts'
import { systemClock } from '../kit/clock.ts'
import { serveCalls } from '../kit/thread-calls.ts'
import type { Fence } from '../store/leases.ts'
import { openStores, type StoreAddress } from '../store/open-stores.ts'

export interface IndexThreadData {
  address: StoreAddress
  environment: Environment
  /** The lease of the indexer; undefined if only one process works on the store. */
  fence?: Fence | undefined
  network: Network
  dropAfterMs: number
}

const { address, environment, fence, network, dropAfterMs } = workerData as IndexThreadData
const database = openStores(address, systemClock).chain(environment, {
  inline: true,
  ...(fence === undefined ? {} : { fence }),
})
const indexer = await createIndexer({
  chain: database.chain,
  events: database.events,
  network,
  now: () => Date.now(),
  dropAfterMs,
  onUnreadable: (detail) => thread.post(detail),
})
const thread = serveCalls(indexer, { close: () => database.close() })

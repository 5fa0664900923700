import { join } from 'node:path'
import type { Network } from '../core/chain/network.ts'
import { createEventTail, type EventTail } from '../events/publish.ts'
import { createWatchedAddresses, type WatchedAddresses } from '../relay/addresses.ts'
import type { ChainStore } from '../store/chain.ts'
import type { EventStore } from '../store/events.ts'
import { openSqliteChain } from '../store/sqlite/chain.ts'
import type { Parts } from './parts.ts'

/** The chain index and event log of one environment, with what its readers share. */
export interface EventLog {
  readonly chain: ChainStore
  readonly events: EventStore
  readonly tail: EventTail
  readonly watched: WatchedAddresses
  readonly network: Network
}

const MOST_WATCHED_ADDRESSES = 1_000_000
/** Events that another process or thread wrote are noticed this soon, announced or not. */
const LOOK_MS = 100

export async function openEventLog(parts: Parts, network: Network = 'testnet-10'): Promise<EventLog> {
  const { environment, config, log, shutdown, probes } = parts
  const { chain, events, close } = openSqliteChain({ file: join(config.data, `${environment}-chain.db`) })
  shutdown.add(`${environment} event log`, close)
  probes.push({ name: `${environment} event log`, check: async () => void (await events.bounds()) })
  const tail = await createEventTail({
    store: events,
    onError: (err) => log.error({ err }, 'the event log could not be read'),
  })
  const looking = setInterval(() => {
    events.bounds().then(
      ({ newestSeq }) => tail.announce(newestSeq),
      (err) => log.error({ err }, 'the event log could not be read'),
    )
  }, LOOK_MS)
  shutdown.add(`${environment} event tail`, async () => {
    clearInterval(looking)
    await tail.close()
  })
  const watched = createWatchedAddresses({ network, cap: MOST_WATCHED_ADDRESSES })
  return { chain, events, tail, watched, network }
}

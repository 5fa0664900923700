/**
 * The chain half of one process of the service, in one thread: the pool of nodes, the followed chain, the index and
 * the tail of the event log. The indexer's thread is simulated as a separate process that can die alone. If two
 * processes share the index, the leader writes it and both read the log.
 */
import { leadPart } from '../../../src/app/lead.ts'
import { lookAtLog } from '../../../src/events/look-at-log.ts'
import { createEventTail, type EventTail } from '../../../src/events/publish.ts'
import { startFollowing } from '../../../src/indexer/follow.ts'
import { createIndexer, type Indexer } from '../../../src/indexer/indexer.ts'
import { type Indexing, superviseIndexing } from '../../../src/indexer/supervise-indexing.ts'
import { ThreadEndedError } from '../../../src/kit/thread-calls.ts'
import { createWatchedAddresses, type WatchedAddresses } from '../../../src/relay/addresses.ts'
import type { ChainGap, ChainStores } from '../../../src/store/chain.ts'
import type { Fence } from '../../../src/store/leases.ts'
import { openStores, type SqliteAddress } from '../../../src/store/open-stores.ts'
import { createUpstreams, type Upstreams } from '../../../src/upstreams/pool.ts'
import { leasesOf } from '../leases.ts'
import type { SimulatedProcess } from '../process.ts'
import type { Surroundings } from '../simulation.ts'
import { nodeDial } from './dial.ts'
import { INDEX_PART, isIndexWrite, type SharedIndex } from './shared-index.ts'
import { CHAIN_NETWORK, type WorldNode } from './world.ts'

/** Fewer sockets and requests than in production, and a lag limit that suits a chain with slow blocks. */
const POOL = { lightSockets: 1, heavySockets: 2, probeEveryMs: 3_000, lagOut: 12, lagIn: 4 }
const MEMPOOL_PACE = { minMs: 4_000, flowMs: 4_000, quietMs: 4_000 }
const DROP_AFTER_MS = 60_000
const WARN_EVERY_MS = 60_000
const KEEP = { eventDays: 365, eventBytes: 1e12, indexDays: null }

export interface ChainServiceOptions {
  readonly surroundings: Surroundings
  readonly process: SimulatedProcess
  readonly address: SqliteAddress
  readonly nodes: readonly WorldNode[]
  /** The highest number of an event that readers are known to have. */
  readonly knownSeq?: number
  /** Set if another process may index as well. */
  readonly shared?: SharedIndex | undefined
  readonly onGap?: (gap: ChainGap) => void
}

export interface ChainService {
  readonly upstreams: Upstreams
  readonly watched: WatchedAddresses
  /** The stores as the API reads them. */
  readonly stores: ChainStores
  readonly tail: EventTail
  /** Whether this process writes the index. */
  isLeading(): boolean
  /** Stops as on a signal. */
  stop(): Promise<void>
}

/** Starts immediately; what it opens is known before it is ready, so that it can be killed in between. */
export function startChainService(options: ChainServiceOptions) {
  const { surroundings, process, address, shared } = options
  const { clock, random } = process
  const log = surroundings.logOf(process)
  const files = new Set<ChainStores>()
  let thread: SimulatedProcess | undefined
  let warnedAtMs = Number.NEGATIVE_INFINITY

  function open(owner: SimulatedProcess, inline: boolean, fence?: Fence): ChainStores {
    const stores = openStores(address, clock).chain('test', { inline })
    files.add(stores)
    const fenced = (fence && shared?.fenced(stores, fence)) ?? stores
    const { chain, events } = surroundings.disk.behind(fenced, owner, isIndexWrite)
    return {
      chain,
      events: shared?.noticed(events, owner) ?? events,
      async close() {
        files.delete(stores)
        await stores.close()
      },
    }
  }

  const upstreams = createUpstreams({
    network: CHAIN_NETWORK,
    nodes: options.nodes.map(({ name, url }) => ({ name, url, tier: 'primary' })),
    clock,
    random,
    dial: nodeDial(surroundings.network.dialFor(process)),
    settings: POOL,
  })
  const watched = createWatchedAddresses({ network: CHAIN_NETWORK, cap: 1_000 })
  const stores = open(process, false)

  async function startIndexing(tail: EventTail, fence: Fence | undefined): Promise<Indexing> {
    const own = surroundings.startProcess(`${process.name} indexer`)
    thread = own
    process.onDeath(() => own.kill())
    const written = open(own, true, fence)
    const ended = Promise.withResolvers<Error | undefined>()
    own.onDeath(() => ended.resolve(new ThreadEndedError('the indexer has ended')))
    const indexer = createIndexer({
      chain: written.chain,
      events: written.events,
      network: CHAIN_NETWORK,
      now: () => clock.now(),
      dropAfterMs: DROP_AFTER_MS,
      onUnreadable: (detail) => log.error({ detail }, 'a transaction could not be indexed'),
    })
    const following = await startFollowing({
      upstreams,
      indexer: callsInto(own, process, indexer),
      watched,
      clock,
      random,
      keep: KEEP,
      mempoolPace: MEMPOOL_PACE,
      onWritten: tail.announce,
      onTrouble: (part, detail) => {
        if (clock.now() - warnedAtMs < WARN_EVERY_MS) return
        warnedAtMs = clock.now()
        log.warn({ part, detail }, 'trouble in following the chain')
      },
      onGap: (gap) => {
        log.warn({ gap }, 'part of the chain could not be read and is missing')
        options.onGap?.(gap)
      },
    })
    return {
      ended: process.outside(ended.promise),
      async close() {
        await following.close()
        await written.close()
      },
    }
  }

  async function start(): Promise<ChainService> {
    const { newestSeq } = await stores.events.bounds()
    if (newestSeq < (options.knownSeq ?? 0)) await stores.events.numberAbove(options.knownSeq ?? 0)
    const onError = (err: unknown) => log.error({ err }, 'the event log could not be read')
    const tail = await createEventTail({ store: stores.events, clock, onError })
    const stopLooking = shared && lookAtLog({ events: stores.events, tail, clock, onError })
    const leases = shared && leasesOf(process, shared.leases, surroundings.time)
    const leader = await leadPart(INDEX_PART, { leases, holder: process.name, clock, log }, (fence) =>
      superviseIndexing({
        start: () => startIndexing(tail, fence),
        clock,
        random,
        onEnd: (err) => log.error({ err }, 'the indexer has ended and is started again'),
      }),
    )
    return {
      upstreams,
      watched,
      stores,
      tail,
      isLeading: () => leader.isLeading,
      async stop() {
        await leader.close()
        stopLooking?.()
        await tail.close()
        await upstreams.close()
        await stores.close()
      },
    }
  }

  async function closeFiles(): Promise<void> {
    for (const open of [...files]) await open.close()
    files.clear()
  }

  return {
    ready: start(),
    /** Closes the files of a process that was killed. */
    closeFiles,
    killIndexThread: () => thread?.kill(),
    /** Both threads, because a signal stops the whole process. */
    processes: () => [process, ...(thread === undefined ? [] : [thread])],
  }
}

/** Calls into a thread: they fail after its death, and never return after the death of the calling process. */
function callsInto(thread: SimulatedProcess, caller: SimulatedProcess, indexer: Promise<Indexer>): Indexer {
  const lost = () => new ThreadEndedError('the indexer has ended')
  const call = (name: string, args: unknown[]) =>
    caller.outside(
      new Promise((resolve, reject) => {
        if (thread.isDead) return reject(lost())
        const forget = thread.onDeath(() => reject(lost()))
        indexer
          .then((open) =>
            (open as unknown as Record<string, (...args: unknown[]) => unknown>)[name]?.(...args),
          )
          .then(resolve, reject)
          .finally(forget)
      }),
    )
  return new Proxy({} as Indexer, {
    get:
      (_target, name) =>
      (...args: unknown[]) =>
        call(String(name), args),
  })
}

/** The chain half as a part of a simulation: its faults, and the judge of laws 4 to 7. */
import type { ChainGap } from '../../../src/store/chain.ts'
import type { StoredEvent } from '../../../src/store/events.ts'
import type { Part, PartKind, Surroundings } from '../simulation.ts'
import { allEvents, compareAddress, compareIndex, compareLog, compareResumed } from './compare.ts'
import { comparePending } from './compare-rows.ts'
import { compareTokens } from './compare-tokens.ts'
import { createEventContents, type EventContents } from './event-contents.ts'
import { beginChainFault, CHAIN_FAULTS } from './faults.ts'
import { createLogLaws, type LogLaws } from './log-laws.ts'
import {
  type ChainIncarnation,
  type ChainSystem,
  type ChainSystemOptions,
  startChainSystem,
} from './system.ts'
import { createTransactionTruth } from './transaction-truth.ts'

/** After the last block: how long nodes may seem to be behind, plus the longest wait of a breaker. */
const CATCH_UP_MS = 45_000
/** A transaction that left the mempools without being seen counts as pending for a minute. */
const SETTLE_MS = 75_000
const POLL_MS = 250
const RESUMED_READERS = 6

export const chainKind: PartKind = {
  name: 'chain',
  faults: CHAIN_FAULTS,
  start: (surroundings) => startChainPart(surroundings),
}

export interface ChainPart extends Part {
  readonly system: ChainSystem
  readonly laws: LogLaws
}

export async function startChainPart(
  surroundings: Surroundings,
  options: ChainSystemOptions = {},
): Promise<ChainPart> {
  const { time, random } = surroundings
  const laws: LogLaws = createLogLaws(
    {
      acceptedAt: (txId) => system.world.archive.acceptedAt(txId),
      block: (hash) => system.world.archive.block(hash),
      timeOf: (hash) => system.world.archive.timeOf(hash),
    },
    { judge: (event, text) => contents.judge(event, text) },
  )
  const found: string[] = []
  const draws = random.stream('judge')
  const system = await startChainSystem(surroundings, {
    ...options,
    onLeak: (text) => found.push(`5 ${text}`),
    onUnfenced: (text) => found.push(text),
    onGap: (gap) => {
      found.push(...unfoundedGap(system, gap))
      options.onGap?.(gap)
    },
    async extend(incarnation) {
      found.push(...listen(incarnation, laws, found))
      return (await options.extend?.(incarnation)) ?? { stop: async () => {} }
    },
  })
  const { world, reader } = system
  const truthOf = createTransactionTruth(world.archive)
  const contents: EventContents = createEventContents(world.archive, truthOf)
  const sleep = (ms: number) => new Promise<void>((resolve) => time.after(ms, resolve))

  /** Reads what was written since the last look. */
  async function readOn(): Promise<string[]> {
    return laws.feed(await allEvents(reader, laws.lastSeq))
  }

  async function look(): Promise<string[]> {
    const wrong = [...found.splice(0), ...(await readOn())]
    const checkpoint = await reader.chain.checkpoint()
    const { newestSeq } = await reader.events.bounds()
    if (newestSeq !== laws.lastSeq || checkpoint === undefined) return wrong
    const tip = laws.segments().at(-1)?.chain.at(-1)
    if (tip !== undefined && tip !== checkpoint.hash)
      wrong.push(`6 the log ends at block ${tip}, the index at ${checkpoint.hash}`)
    const { address } = draws.pick(world.wallets)
    wrong.push(...(await compareAddress(reader, laws.standing(), address)))
    return wrong
  }

  async function judge(): Promise<string[]> {
    await world.freeze()
    const reached = await caughtUp()
    if (!reached) {
      const checkpoint = await reader.chain.checkpoint()
      return [
        `4 the index is at ${checkpoint?.hash}, the chain at ${world.archive.sink()} long after the faults`,
      ]
    }
    await sleep(SETTLE_MS)
    const wrong = await look()
    const events = await allEvents(reader)
    wrong.push(...events.flatMap((event) => laws.same(event)))
    for (let count = 0; count < RESUMED_READERS; count++)
      wrong.push(...(await compareResumed(reader, events, draws)))
    wrong.push(
      ...compareLog(laws, world.archive),
      ...(await compareIndex(reader, laws, world.archive, truthOf)),
    )
    wrong.push(...(await compareTokens(reader, laws, world.archive, truthOf)))
    const gaps = await reader.chain.gaps(100_000)
    wrong.push(
      ...(await comparePending(
        reader,
        { mempool: world.chain.mempool, truthOf },
        {
          lostAtMs: gaps.findLast(({ reason }) => reason === 'pruned')?.atMs,
          mayBeStale: system.wasSkewed(),
        },
      )),
    )
    const recorded = gaps.map(({ reason }) => reason)
    const logged = laws.gaps().map(({ reason }) => reason)
    if (recorded.join() !== logged.join())
      wrong.push(`6 the index records the gaps ${recorded.join()}, the log tells ${logged.join()}`)
    return wrong
  }

  async function caughtUp(): Promise<boolean> {
    for (let leftMs = CATCH_UP_MS; leftMs > 0; leftMs -= POLL_MS) {
      if ((await reader.chain.checkpoint())?.hash === world.archive.sink()) return true
      await sleep(POLL_MS)
    }
    return false
  }

  return {
    system,
    laws,
    begin: (fault) => beginChainFault(system, surroundings, fault),
    look,
    judge,
    stop: () => system.close(),
  }
}

/** A listener of the tail gets every event after it began listening, once and in order. */
function listen({ tail, process }: ChainIncarnation, laws: LogLaws, found: string[]): string[] {
  let last = tail.seq
  tail.listen((events: readonly StoredEvent[]) => {
    for (const event of events) {
      if (event.seq !== last + 1) found.push(`6 the tail of ${process.name} gives ${event.seq} after ${last}`)
      last = event.seq
      found.push(...laws.same(event))
    }
  })
  return []
}

/** A part of the chain may be lost only if the network itself has pruned the block to continue from. */
function unfoundedGap({ world }: ChainSystem, { reason, fromHash }: ChainGap): string[] {
  const isKnown = world.nodes.some(({ running }) => running.truth.chain(fromHash)[0]?.hash === fromHash)
  return reason === 'pruned' && isKnown
    ? [`6 a gap from ${fromHash} is recorded, and the nodes have that block`]
    : []
}

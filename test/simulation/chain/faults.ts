/** What can go wrong between the chain and the index, and how each fault begins and ends. */
import type { Faults } from '../../../sandbox/node/faults.ts'
import {
  AWAY_FAULT,
  beginDiskFault,
  beginNetworkFault,
  beginStrike,
  DISK_FAULTS,
  NETWORK_FAULTS,
  PAUSE_FAULT,
  PROCESS_FAULTS,
} from '../common-faults.ts'
import type { Random } from '../random.ts'
import type { FaultKind, ScheduledFault } from '../schedule.ts'
import type { Surroundings } from '../simulation.ts'
import type { SpoiledFrames } from './spoil-frames.ts'
import type { ChainSystem } from './system.ts'
import type { WorldNode } from './world.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const MAX_NODES = 3

const someNode = (random: Random) => ({ node: random.int(1, MAX_NODES) })

/** Faults of one node: how it behaves and what it reports. */
const nodeFault = (
  kind: string,
  weight: number,
  longestMs: number,
  settings: (random: Random) => Record<string, number | string | boolean> = () => ({}),
): FaultKind => ({
  kind,
  weight,
  durationMs: [SECOND_MS, longestMs],
  settings: (random) => ({ ...someNode(random), ...settings(random) }),
})

const share = (random: Random) => ({ share: random.pick([0.05, 0.3, 1]) })

export const CHAIN_FAULTS: readonly FaultKind[] = [
  nodeFault('node-hangs', 2, 10 * MINUTE_MS),
  nodeFault('node-slow', 1, 10 * MINUTE_MS, (random) => ({ latencyMs: random.int(100, 8_000) })),
  nodeFault('node-lags', 3, 20 * MINUTE_MS, (random) => ({ lagDaa: random.int(1, 60) })),
  nodeFault('node-lags-and-lies', 2, 20 * MINUTE_MS, (random) => ({ lagDaa: random.int(1, 60) })),
  nodeFault('node-unsynced', 1, 10 * MINUTE_MS),
  nodeFault('node-transitional', 1, 10 * MINUTE_MS),
  nodeFault('node-on-another-network', 1, 10 * MINUTE_MS),
  nodeFault('node-refuses', 1, 10 * MINUTE_MS, (random) => ({
    text: random.pick(['Internal server error', 'mempool is full', 'something new', 'cannot find header 00']),
  })),
  nodeFault('node-without-utxo-index', 1, 10 * MINUTE_MS),
  nodeFault('node-truncated', 1, 5 * MINUTE_MS, share),
  nodeFault('node-repeated', 1, 10 * MINUTE_MS, share),
  nodeFault('node-stale-answer', 1, 5 * MINUTE_MS, share),
  ...NETWORK_FAULTS.filter(({ kind }) => kind !== 'truncate').map((fault) => ({
    ...fault,
    settings: (random: Random) => ({ ...fault.settings?.(random), ...someNode(random) }),
  })),
  /** Every node at once. */
  { kind: 'all-cut', weight: 3, durationMs: [SECOND_MS, 30 * MINUTE_MS] },
  { kind: 'all-hang', weight: 1, durationMs: [SECOND_MS, 15 * MINUTE_MS] },
  {
    kind: 'all-lag',
    weight: 1,
    durationMs: [SECOND_MS, 20 * MINUTE_MS],
    settings: (random) => ({ lagDaa: random.int(1, 40) }),
  },
  {
    kind: 'reorganise',
    weight: 4,
    durationMs: [0, 0],
    settings: (random) => ({ depth: random.pick([1, 2, 2, 3, 5, 10, 30]), doubleSpend: random.chance(0.5) }),
  },
  {
    kind: 'burst',
    weight: 1,
    durationMs: [0, 0],
    settings: (random) => ({ blocks: random.pick([5, 40, 150, 300]) }),
  },
  ...DISK_FAULTS,
  AWAY_FAULT,
  ...PROCESS_FAULTS.filter(({ kind }) => kind !== 'our-skew'),
  PAUSE_FAULT,
  {
    kind: 'our-skew',
    weight: 1,
    durationMs: [SECOND_MS, 10 * MINUTE_MS],
    settings: (random) => ({
      offsetMs: random.pick([-3_600_000, -90_000, -1_000, 1_000, 90_000, 3_600_000]),
    }),
  },
  { kind: 'index-thread-dies', weight: 2, durationMs: [0, 0] },
]

const NODE_FAULTS: Record<string, (settings: ScheduledFault['settings']) => Partial<Faults>> = {
  'node-hangs': () => ({ hang: true }),
  'node-slow': ({ latencyMs }) => ({ latencyMs: Number(latencyMs) }),
  'node-lags': ({ lagDaa }) => ({ lagDaa: Number(lagDaa) }),
  'node-lags-and-lies': ({ lagDaa }) => ({ lagDaa: Number(lagDaa), claimSynced: true }),
  'node-unsynced': () => ({ claimSynced: false }),
  'node-transitional': () => ({ transitional: true }),
  'node-on-another-network': () => ({ network: 'mainnet' }),
  'node-refuses': ({ text }) => ({ refuse: String(text) }),
  'node-without-utxo-index': () => ({ utxoIndex: false }),
}

const WELL: Record<string, Partial<Faults>> = {
  'node-hangs': { hang: false },
  'node-slow': { latencyMs: 0 },
  'node-lags': { lagDaa: 0 },
  'node-lags-and-lies': { lagDaa: 0, claimSynced: null },
  'node-unsynced': { claimSynced: null },
  'node-transitional': { transitional: false },
  'node-on-another-network': { network: null },
  'node-refuses': { refuse: null },
  'node-without-utxo-index': { utxoIndex: true },
}

const SPOILED: Record<string, SpoiledFrames> = {
  'node-truncated': 'truncated',
  'node-repeated': 'repeated',
  'node-stale-answer': 'stale-answer',
}

export function beginChainFault(
  system: ChainSystem,
  surroundings: Surroundings,
  fault: ScheduledFault,
): (() => void) | undefined {
  const { network, disk } = surroundings
  const { kind, settings } = fault
  const { world } = system
  const { nodes } = world
  const all = (begin: (node: WorldNode) => () => void) => {
    const ends = nodes.map(begin)
    return () => {
      for (const end of ends) end()
    }
  }
  switch (kind) {
    case 'kill':
      return system.kill()
    case 'strike':
      return beginStrike(surroundings, fault, (process) => {
        surroundings.note('killed at a write')
        surroundings.lookSoon()
        return system.kill(process)
      })
    case 'restart':
      return system.stopCleanly()
    case 'index-thread-dies':
      system.killIndexThread()
      return undefined
    case 'pause':
      return system.pause()
    case 'our-skew':
      return system.skew(Number(settings.offsetMs))
    case 'reorganise':
      world.chain.reorganize(Number(settings.depth), settings.doubleSpend === true)
      return undefined
    case 'burst':
      world.burst(Number(settings.blocks))
      return undefined
    case 'all-cut':
      return all(({ name }) => network.set({ kind: 'cut', server: name }))
    case 'all-hang':
      return all((node) => set(node, 'node-hangs', settings))
    case 'all-lag':
      return all((node) => set(node, 'node-lags', settings))
  }
  const node = nodes[(Number(settings.node ?? 1) - 1) % nodes.length]
  if (node === undefined) return undefined
  if (NODE_FAULTS[kind] !== undefined) return set(node, kind, settings)
  const spoiled = SPOILED[kind]
  if (spoiled !== undefined) return node.spoiler.set(spoiled, Number(settings.share))
  return beginDiskFault(disk, fault) ?? beginNetworkFault(network, node.name, fault)
}

function set({ running }: WorldNode, kind: string, settings: ScheduledFault['settings']): () => void {
  running.setFaults(NODE_FAULTS[kind]?.(settings) ?? {})
  return () => running.setFaults(WELL[kind] ?? {})
}

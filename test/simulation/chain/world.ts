/**
 * A small simulated network: one chain with a block every few seconds, a few wallets, and two or three nodes on it.
 * Their outgoing frames can be spoiled (`spoil-frames.ts`).
 */
import type { Chain } from '../../../sandbox/node/chain.ts'
import { type RunningSandboxNode, startSandboxChain, startSandboxNode } from '../../../sandbox/node/run.ts'
import type { Endpoint, Listen } from '../../../sandbox/server/transport.ts'
import type { Random } from '../random.ts'
import type { Surroundings } from '../simulation.ts'
import { type ChainArchive, keepArchive } from './archive.ts'
import { createSpoiler, type Spoiler } from './spoil-frames.ts'
import { startTokenUser } from './token-user.ts'

export const CHAIN_NETWORK = 'testnet-10'

export interface ChainWorldSettings {
  readonly seed: number
  readonly nodes: number
  readonly blocksPerSecond: number
  readonly transactionsPerSecond: number
  readonly keepBlocks: number
  readonly parallelRate: number
  readonly lateRate: number
  readonly dwellBlocks: number
  readonly reorgsPerMinute: number
  readonly reorgDepth: number
}

export interface WorldNode {
  /** Also the name of its server on the network. */
  readonly name: string
  readonly url: string
  readonly running: RunningSandboxNode
  readonly spoiler: Spoiler
}

export interface ChainWorld {
  readonly settings: ChainWorldSettings
  readonly chain: Chain
  readonly nodes: readonly WorldNode[]
  readonly archive: ChainArchive
  /** The wallets with money on this chain. */
  readonly wallets: readonly { readonly name: string; readonly address: string }[]
  /** Adds this many blocks at once. */
  burst(blocks: number): void
  /** Stops adding blocks, so that the final state can be compared. */
  freeze(): Promise<void>
  close(): Promise<void>
}

export function drawChainWorld(random: Random): ChainWorldSettings {
  return {
    seed: random.int(1, 1_000_000),
    nodes: random.pick([2, 2, 3]),
    blocksPerSecond: random.pick([0.1, 0.1, 0.2]),
    transactionsPerSecond: random.pick([0.03, 0.05, 0.1]),
    // Few, so that a node prunes what a long outage missed, but more than the indexer reads again after a restart.
    keepBlocks: random.pick([130, 200, 5_000, 5_000]),
    parallelRate: random.pick([0, 0.15, 0.4]),
    lateRate: random.pick([0, 0.02]),
    dwellBlocks: random.pick([0, 1, 4]),
    reorgsPerMinute: random.pick([0, 0.1, 0.4]),
    reorgDepth: random.pick([1, 3, 8]),
  }
}

export async function startChainWorld(
  surroundings: Surroundings,
  settings: ChainWorldSettings,
): Promise<ChainWorld> {
  const { network, random, time } = surroundings
  const { nodes: count, ...chainSettings } = settings
  const { clock } = surroundings.startProcess('nodes')
  const sandbox = await startSandboxChain({
    ...chainSettings,
    network: CHAIN_NETWORK,
    clock,
    users: 4,
    warmUpBlocks: 50,
    coinbaseMaturity: 20,
  })
  const { chain } = sandbox
  const archive = keepArchive(chain)
  const nodes: WorldNode[] = []
  for (let index = 1; index <= count; index++) {
    const name = `node-${index}`
    const spoiler = createSpoiler(random.stream(`frames of ${name}`))
    const listen = spoiling(network.listenAs(name), spoiler)
    const running = await startSandboxNode({ chain: sandbox, name, clock, listen })
    running.followScores(archive.keepScores)
    nodes.push({ name, url: running.url, running, spoiler })
  }
  const tokenUser = startTokenUser(chain, time, random.stream('token user'))
  const isFrozen = { now: false }
  return {
    settings,
    chain,
    nodes,
    archive,
    wallets: nodes[0]?.running.wallets().map(({ name, address }) => ({ name, address })) ?? [],
    burst(blocks) {
      if (!isFrozen.now) chain.burst(blocks)
    },
    async freeze() {
      isFrozen.now = true
      tokenUser.stop()
      await sandbox.close()
    },
    async close() {
      tokenUser.stop()
      archive.stop()
      for (const { running } of nodes) await running.close()
      await sandbox.close()
    },
  }
}

function spoiling(listen: Listen, spoiler: Spoiler): Listen {
  return (endpoint, port) => {
    const spoiled: Endpoint = {
      ...endpoint,
      upgrade(request) {
        const decision = endpoint.upgrade?.(request) ?? 'cut'
        if (decision === 'cut' || 'refuse' in decision) return decision
        return { accept: (socket) => decision.accept(spoiler.behind(socket)) }
      },
    }
    return listen(spoiled, port)
  }
}

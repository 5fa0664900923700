/** Starts simulated chains and nodes. Several nodes can share a chain, in one process or over a link. */
import { sha256 } from '@noble/hashes/sha2.js'
import { type Clock, runEvery, systemClock } from '../../src/kit/clock.ts'
import { type Listen, listenOnLoopback } from '../server/transport.ts'
import { Chain } from './chain.ts'
import { type ChainConnection, type ChainMessage, localConnection } from './chain-connection.ts'
import { remoteConnection, serveLink } from './chain-link.ts'
import { type ChainOptions, chainOptions } from './chain-options.ts'
import { addressOfScript } from './consensus/address.ts'
import { toHex } from './consensus/bytes.ts'
import { startControl } from './control.ts'
import { type Faults, NO_FAULTS } from './faults.ts'
import { createMethodLog } from './method-log.ts'
import { NETWORKS } from './networks.ts'
import { SandboxNode } from './node.ts'
import { pace } from './pace.ts'
import type { RunningSandboxNode } from './running-node.ts'
import { startServer } from './server.ts'
import { openStateFolder } from './state-folder.ts'
import { createWallet } from './traffic/wallet.ts'
import { createTruth } from './truth.ts'

export type { RunningSandboxNode } from './running-node.ts'

export interface SandboxChainOptions extends Partial<ChainOptions> {
  /** Where the chain is kept across restarts; if omitted, nothing is written. */
  stateFolder?: string
  snapshotEveryMs?: number
  /** The port on which nodes in other processes attach (0 = any); if omitted, none can. */
  linkPort?: number
  /** If false, blocks are made only by `step()` (for tests). */
  paced?: boolean
  clock?: Clock
}

export interface RunningSandboxChain {
  chain: Chain
  /** Undefined without a link. */
  linkPort: number | undefined
  resumed: boolean
  connect(): ChainConnection
  close(): Promise<void>
}

const SNAPSHOT_EVERY_MS = 300_000

export async function startSandboxChain(options: SandboxChainOptions = {}): Promise<RunningSandboxChain> {
  const {
    stateFolder,
    linkPort,
    clock = systemClock,
    paced = true,
    snapshotEveryMs = SNAPSHOT_EVERY_MS,
    ...rest
  } = options
  const wanted = chainOptions(rest, clock.now())
  const folder = stateFolder === undefined ? undefined : openStateFolder(stateFolder, wanted)
  const chain = folder?.chain ?? new Chain(wanted)
  const stop = new AbortController()
  const running = paced ? pace(chain, clock, stop.signal) : Promise.resolve()
  const stopSaving = folder === undefined ? () => {} : runEvery(clock, snapshotEveryMs, () => folder.save())
  const link = linkPort === undefined ? undefined : await serveLink(chain, linkPort)
  return {
    chain,
    linkPort: link?.port,
    resumed: folder?.resumed ?? false,
    connect: () => localConnection(chain),
    async close() {
      stop.abort()
      stopSaving()
      await running
      await link?.close()
      folder?.close()
    },
  }
}

export interface SandboxNodeOptions extends SandboxChainOptions {
  name?: string
  /**
   * Where the node listens; loopback if omitted. If given, no control port opens, and the caller sets the faults
   * directly.
   */
  listen?: Listen
  port?: number
  controlPort?: number
  /** A chain in this process, or the port of a link. Without either, the node starts its own chain. */
  chain?: RunningSandboxChain
  attach?: number
  faults?: Partial<Faults>
  /** Called by `die` and by a panic after the sockets are cut; a separate process exits here. */
  onDeath?: () => void
}

export async function startSandboxNode(options: SandboxNodeOptions = {}): Promise<RunningSandboxNode> {
  const { name = 'sandbox-node', port = 0, attach, onDeath, clock = systemClock } = options
  const { listen = listenOnLoopback } = options
  const ownChain =
    options.chain === undefined && attach === undefined ? await startSandboxChain(options) : undefined
  const connection =
    attach === undefined ? (options.chain ?? ownChain)?.connect() : remoteConnection({ port: attach, clock })
  if (connection === undefined) throw new Error('a node needs a chain')
  const {
    node,
    options: chainOptionsOf,
    setFaults,
    faults,
  } = await openNode({
    name,
    connection,
    clock,
    given: options.faults ?? {},
  })
  const log = createMethodLog()
  const die = async () => {
    connection.close()
    await server.die()
    onDeath?.()
  }
  const server = await startServer({ node, faults, log, clock, listen, port, panic: () => void die() })
  const { seed, users, network } = chainOptionsOf
  const truth = createTruth(() => node.ledger)
  let tellScores = () => {}
  const running: RunningSandboxNode = {
    name,
    url: `ws://127.0.0.1:${server.port}`,
    controlUrl: '',
    log,
    truth,
    faults,
    setFaults(changed) {
      setFaults(changed)
      tellScores()
    },
    followScores(listener) {
      tellScores = () => listener(node.ledger.virtual.daaScore, node.ledger.sink.header.blueScore)
      node.on(() => tellScores())
      tellScores()
    },
    status: () => ({
      name,
      url: running.url,
      network: node.network,
      virtualDaaScore: node.ledger.virtual.daaScore,
      sink: truth.sink(),
      sinkBlueScore: node.ledger.sink.header.blueScore,
      blocks: node.ledger.blockCount,
      mempool: node.mempool.size,
      unspentOutputs: node.ledger.utxos.size,
      connections: node.counters.connections,
      rssBytes: process.memoryUsage.rss(),
      cpuMs: (process.cpuUsage().user + process.cpuUsage().system) / 1000,
      faults: faults(),
    }),
    reorganize: async (depth, doubleSpend = false) =>
      void (await connection.send({ kind: 'reorganize', depth, doubleSpend })),
    pay: (address, amount) => connection.send({ kind: 'pay', address, amount }),
    setDwell: async (blocks) => void (await connection.send({ kind: 'dwell', blocks })),
    publish: (kind, hash) => node.publish(kind === 'utxo_set_override' ? { kind } : { kind, hash }),
    wallets: () =>
      ['faucet', ...Array.from({ length: users }, (_, i) => `user ${i}`)].map((wallet) => {
        const { secret, script } = createWallet(seed, wallet)
        return { name: wallet, secret, address: addressOfScript(NETWORKS[network].prefix, script) ?? '' }
      }),
    die,
    async close() {
      connection.close()
      await server.close()
      await control?.close()
      await ownChain?.close()
    },
  }
  const control =
    options.listen === undefined ? await startControl(running, options.controlPort ?? 0) : undefined
  if (control !== undefined) running.controlUrl = `http://127.0.0.1:${control.port}`
  return running
}

async function openNode(options: {
  name: string
  connection: ChainConnection
  clock: Clock
  given: Partial<Faults>
}) {
  let current: Faults = { ...NO_FAULTS, ...options.given }
  const faults = () => current
  // Events that arrive before the node exists are queued for it.
  let deliver = (event: ChainMessage): void => void early.push(event)
  const early: ChainMessage[] = []
  const start = await options.connection.open((event) => deliver(event))
  const digest = toHex(sha256(Buffer.from(options.name)))
  const id = `${digest.slice(0, 8)}-${digest.slice(8, 12)}-4${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`
  const chosen = start?.options ?? options.connection.chain?.options
  if (chosen === undefined) throw new Error('a node needs a chain')
  const node = new SandboxNode({
    id,
    connection: options.connection,
    options: chosen,
    start,
    faults,
    nowMs: () => options.clock.now(),
  })
  deliver = (event) => node.receive(event)
  for (const event of early) node.receive(event)
  node.applyLag()
  const setFaults = (changed: Partial<Faults>) => {
    const lag = current.lagDaa
    current = { ...current, ...changed }
    if (current.lagDaa !== lag) node.applyLag()
  }
  return { node, options: chosen, faults, setFaults }
}

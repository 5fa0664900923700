/**
 * Simulated nodes on one chain as a process or a worker thread: `node sandbox/node/process.ts [options]`.
 *
 * A process writes one line of JSON with the addresses when it is ready and ends cleanly on SIGTERM or SIGINT. With
 * --with-parent it also ends when its stdin ends, because the process that started it is gone. A thread takes
 * `NodesOptions` as its data, posts the addresses, and ends on the message "close". Both end with 1 when all of their
 * nodes have died.
 */
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { isMainThread, workerData } from 'node:worker_threads'
import { announce } from '../server/announce.ts'
import { decodeAddress } from './consensus/address.ts'
import { isNetworkId } from './networks.ts'
import {
  type RunningSandboxNode,
  type SandboxChainOptions,
  startSandboxChain,
  startSandboxNode,
} from './run.ts'

interface NodesOptions {
  /** With several nodes, each has its number appended. */
  readonly name: string
  readonly nodes: number
  /** One per node; any free port where there is none. */
  readonly ports: readonly number[]
  readonly controlPorts: readonly number[]
  readonly chain: SandboxChainOptions
  /** The link of a chain in another process, instead of one of its own. */
  readonly attach?: number
}

interface NodesReady {
  readonly ready: true
  readonly linkPort: number | null
  readonly resumed: boolean
  readonly nodes: readonly Pick<RunningSandboxNode, 'name' | 'url' | 'controlUrl'>[]
}

const OPTIONS = {
  name: { type: 'string', default: 'sandbox-node' },
  nodes: { type: 'string', default: '1' },
  port: { type: 'string', multiple: true },
  'control-port': { type: 'string', multiple: true },
  'link-port': { type: 'string' },
  attach: { type: 'string' },
  'state-folder': { type: 'string' },
  seed: { type: 'string' },
  network: { type: 'string' },
  bps: { type: 'string' },
  tps: { type: 'string' },
  'reorgs-per-minute': { type: 'string' },
  'reorg-depth': { type: 'string' },
  'keep-blocks': { type: 'string' },
  'coinbase-maturity': { type: 'string' },
  'warm-up-blocks': { type: 'string' },
  'start-time-ms': { type: 'string' },
  fund: { type: 'string', multiple: true },
  'with-parent': { type: 'boolean', default: false },
} as const

type Values = ReturnType<typeof read>

function read(argv: readonly string[]) {
  return parseArgs({ args: [...argv], options: OPTIONS, strict: true }).values
}

function count(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!Number.isFinite(value) || value < 0) throw new RangeError(`--${name} is not a number: ${text}`)
  return value
}

/** `address=sompi`. */
function readFund(text: string): { address: string; amount: bigint } {
  const at = text.lastIndexOf('=')
  const address = text.slice(0, at)
  if (!decodeAddress(address).ok) throw new RangeError(`--fund needs address=sompi: ${text}`)
  return { address, amount: BigInt(text.slice(at + 1)) }
}

function chainOf(values: Values): SandboxChainOptions {
  const { network } = values
  if (network !== undefined && !isNetworkId(network)) throw new RangeError(`--network is unknown: ${network}`)
  const numbers = {
    seed: count(values.seed, 'seed'),
    blocksPerSecond: count(values.bps, 'bps'),
    transactionsPerSecond: count(values.tps, 'tps'),
    reorgsPerMinute: count(values['reorgs-per-minute'], 'reorgs-per-minute'),
    reorgDepth: count(values['reorg-depth'], 'reorg-depth'),
    keepBlocks: count(values['keep-blocks'], 'keep-blocks'),
    coinbaseMaturity: count(values['coinbase-maturity'], 'coinbase-maturity'),
    warmUpBlocks: count(values['warm-up-blocks'], 'warm-up-blocks'),
    startTimeMs: count(values['start-time-ms'], 'start-time-ms'),
    linkPort: count(values['link-port'], 'link-port'),
    stateFolder: values['state-folder'],
    network,
    fund: values.fund?.map(readFund),
  }
  return Object.fromEntries(Object.entries(numbers).filter(([, value]) => value !== undefined))
}

function readArguments(): { options: NodesOptions; endsWithParent: boolean } {
  const values = read(process.argv.slice(2))
  const attach = count(values.attach, 'attach')
  const ports = (texts: readonly string[] | undefined, name: string) =>
    (texts ?? []).map((text) => count(text, name) ?? 0)
  return {
    options: {
      name: values.name,
      nodes: count(values.nodes, 'nodes') ?? 1,
      ports: ports(values.port, 'port'),
      controlPorts: ports(values['control-port'], 'control-port'),
      chain: chainOf(values),
      ...(attach === undefined ? {} : { attach }),
    },
    endsWithParent: values['with-parent'],
  }
}

async function startNodes(options: NodesOptions): Promise<NodesReady & { close(): Promise<void> }> {
  const { name, nodes: wanted, ports, controlPorts, attach } = options
  const chain = attach === undefined ? await startSandboxChain(options.chain) : undefined
  const nodes: RunningSandboxNode[] = []
  let living = wanted
  const onDeath = () => {
    living--
    if (living === 0) process.exit(1)
  }
  for (let i = 0; i < wanted; i++) {
    const node = await startSandboxNode({
      name: wanted === 1 ? name : `${name}-${i + 1}`,
      port: ports[i] ?? 0,
      controlPort: controlPorts[i] ?? 0,
      onDeath,
      ...(chain === undefined ? {} : { chain }),
      ...(attach === undefined ? {} : { attach }),
    })
    nodes.push(node)
  }
  return {
    ready: true,
    linkPort: chain?.linkPort ?? null,
    resumed: chain?.resumed ?? false,
    nodes: nodes.map(({ name, url, controlUrl }) => ({ name, url, controlUrl })),
    async close() {
      for (const node of nodes) await node.close()
      await chain?.close()
    },
  }
}

const { options, endsWithParent } = isMainThread
  ? readArguments()
  : { options: workerData as NodesOptions, endsWithParent: false }
// The chain is small but produces much garbage. The limits of a thread have the same effect.
if (isMainThread) setFlagsFromString('--optimize-for-size')
const { close, ...ready } = await startNodes(options)
// A successor may already be reading the state folder, which is complete, so nothing more is written.
if (endsWithParent) process.stdin.resume().once('end', () => process.exit(0))
announce({ close }, ready, false)

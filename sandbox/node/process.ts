/**
 * The simulator as a process: `node sandbox/node/process.ts [options]`. The first line on stdout is JSON and reports
 * that it is ready. SIGTERM ends it cleanly. With --with-parent it also ends when its stdin ends, because the process
 * that started it is gone.
 */
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { decodeAddress } from './consensus/address.ts'
import { isNetworkId } from './networks.ts'
import {
  type RunningSandboxNode,
  type SandboxChainOptions,
  type SandboxNodeOptions,
  startSandboxChain,
  startSandboxNode,
} from './run.ts'

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

export async function main(argv: readonly string[]): Promise<void> {
  const values = read(argv)
  const attach = count(values.attach, 'attach')
  const chain = attach === undefined ? await startSandboxChain(chainOf(values)) : undefined
  const nodes: RunningSandboxNode[] = []
  const wanted = count(values.nodes, 'nodes') ?? 1
  for (let i = 0; i < wanted; i++) {
    const options: SandboxNodeOptions = {
      name: wanted === 1 ? values.name : `${values.name}-${i + 1}`,
      port: count(values.port?.[i], 'port') ?? 0,
      controlPort: count(values['control-port']?.[i], 'control-port') ?? 0,
      ...(chain === undefined ? {} : { chain }),
      ...(attach === undefined ? {} : { attach }),
      ...(wanted === 1 ? { onDeath: () => process.exit(1) } : {}),
    }
    nodes.push(await startSandboxNode(options))
  }
  const stop = async () => {
    for (const node of nodes) await node.close()
    await chain?.close()
    process.exit(0)
  }
  process.once('SIGTERM', () => void stop())
  process.once('SIGINT', () => void stop())
  // A successor may already be reading the state folder, which is complete, so nothing more is written.
  if (values['with-parent']) process.stdin.resume().once('end', () => process.exit(0))
  const ready = {
    ready: true,
    pid: process.pid,
    linkPort: chain?.linkPort ?? null,
    resumed: chain?.resumed ?? false,
    nodes: nodes.map(({ name, url, controlUrl }) => ({ name, url, controlUrl })),
  }
  process.stdout.write(`${JSON.stringify(ready)}\n`)
}

if (import.meta.main) {
  // The chain is small but produces much garbage. The flag is set here because as a command-line option it would make
  // the service's compile cache unusable.
  setFlagsFromString('--optimize-for-size')
  await main(process.argv.slice(2))
}

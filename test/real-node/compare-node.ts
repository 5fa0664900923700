/**
 * `npm run compare-node`: every method and notification of a real node (TAPELINE_KASPAD) beside those of the simulated
 * one: members, their kinds, and the texts of refusals. A difference is a defect of the simulated node unless
 * `known-differences.ts` has a reason for it. Exits 1 where one is left.
 */
import { startSandboxNode } from '../../sandbox/node/run.ts'
import type { Network } from '../../src/core/chain/network.ts'
import { RPC_METHODS } from '../../src/upstreams/methods.ts'
import { goodParams } from '../fakes/all-methods.ts'
import { type PlainClient, plainClient } from '../fakes/plain-node-client.ts'
import { until } from '../until.ts'
import { fundNode } from './funded.ts'
import { KNOWN_DIFFERENCES } from './known-differences.ts'
import { keepMining } from './mine.ts'
import { NETWORK, startRealNode, withoutNode } from './real-node.ts'
import { type Shape, shapeDifferences, shapeOf } from './shape.ts'
import { wholeParams } from './whole-params.ts'

const SCOPES = [
  ['BlockAdded', {}],
  ['VirtualChainChanged', { include_accepted_transaction_ids: true }],
  ['FinalityConflict', {}],
  ['FinalityConflictResolved', {}],
  ['UtxosChanged', { addresses: [] }],
  ['SinkBlueScoreChanged', {}],
  ['VirtualDaaScoreChanged', {}],
  ['PruningPointUtxoSetOverride', {}],
  ['NewBlockTemplate', {}],
] as const

const HASH = '7f'.repeat(32)
/** Params that a node refuses, by method. */
const BAD_PARAMS: Record<string, readonly unknown[]> = {
  getBlock: [{}, { hash: 'xyz' }, { hash: HASH, includeTransactions: false }, { hash: 5 }],
  getBlocks: [
    { lowHash: HASH, includeBlocks: true, includeTransactions: false },
    { includeBlocks: false, includeTransactions: true },
    {},
  ],
  getVirtualChainFromBlock: [{ startHash: HASH, includeAcceptedTransactionIds: false }, {}],
  getVirtualChainFromBlockV2: [{ startHash: HASH }, { startHash: HASH, dataVerbosityLevel: 'Most' }],
  getBalanceByAddress: [{ address: 'kaspasim:qqq' }, { address: 'kaspa:qz' }, {}],
  getBalancesByAddresses: [{ addresses: ['x'] }, { addresses: 'x' }],
  getUtxosByAddresses: [{ addresses: ['x'] }, {}],
  getMempoolEntry: [
    { transactionId: HASH, includeOrphanPool: true, filterTransactionPool: false },
    { transactionId: 'zz', includeOrphanPool: true, filterTransactionPool: false },
  ],
  getCurrentBlockColor: [{ hash: HASH }],
  getBlockRewardInfo: [{ hash: HASH }],
  getDaaScoreTimestampEstimate: [{ daaScores: 'x' }],
  estimateNetworkHashesPerSecond: [{ windowSize: 20_000 }, { windowSize: 10, startHash: HASH }],
  getUtxoReturnAddress: [{ txid: HASH, acceptingBlockDaaScore: 1 }],
  getBlockTemplate: [{ payAddress: 'x', extraData: [] }],
  submitBlock: [{ block: {}, allowNonDaaBlocks: false }, {}],
  submitTransaction: [
    { transaction: {}, allowOrphan: false },
    {
      transaction: {
        ...{
          version: 0,
          inputs: [],
          outputs: [],
          lockTime: 0,
          subnetworkId: '00'.repeat(20),
          gas: 0,
          payload: '',
        },
        mass: 0,
      },
      allowOrphan: false,
    },
  ],
  getSubnetwork: [{ subnetworkId: '00'.repeat(20) }],
  getHeaders: [{ startHash: HASH, limit: 1, isAscending: true }],
}

/** Members that a caller has to ask for. */
const MORE: Record<string, unknown> = {
  getConnections: { includeProfileData: true },
  getMetrics: { customMetrics: true },
  getFeeEstimateExperimental: { verbose: true },
}

interface Seen {
  readonly answers: ReadonlyMap<string, Shape>
  readonly refusals: ReadonlyMap<string, string>
  readonly notifications: ReadonlyMap<string, Shape>
}

async function look(client: PlainClient, network: Network): Promise<Seen> {
  const answers = new Map<string, Shape>()
  const refusals = new Map<string, string>()
  for (const [scope, body] of SCOPES) await client.call('subscribe', { [scope]: body })
  const whole = (method: string, params: unknown = {}) => wholeParams(method, params, network)
  const good = {
    ...(await goodParams((method, params) => client.call(method, whole(method, params)))),
    ...MORE,
  }
  for (const method of RPC_METHODS.keys()) {
    const answer = await client.ask(method, whole(method, good[method]))
    if (answer.error === undefined) answers.set(method, shapeOf([answer.params]))
    else refusals.set(`${method} as it should be`, plain(answer.error.message))
    for (const [at, params] of (BAD_PARAMS[method] ?? []).entries()) {
      const refused = await Promise.race([client.ask(method, params), client.closed])
      refusals.set(
        `${method} #${at}`,
        refused === undefined ? 'closes the connection' : plain(refused.error?.message ?? 'an answer'),
      )
    }
  }
  const seen = () => Map.groupBy(notificationsOf(client), ({ method }) => method)
  await until('notifications', () => seen().size >= 5, 20_000)
  const notifications = new Map(
    [...seen()].map(([method, frames]) => [method, shapeOf(frames.map(({ params }) => params))]),
  )
  return { answers, refusals, notifications }
}

function notificationsOf({ frames }: PlainClient): { method: string; params: unknown }[] {
  return frames
    .map((text) => JSON.parse(text) as { id?: unknown; method: string; params: unknown })
    .filter(({ id }) => id === undefined || id === null)
}

/** Without what is different every time. */
function plain(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{64}/g, '<hash>')
    .replaceAll(/kaspa(?:test|sim|dev)?:[a-z0-9]+/g, '<address>')
    .replaceAll(/\d+/g, '<n>')
}

async function main(): Promise<number> {
  if (withoutNode !== false) {
    process.stdout.write(`${withoutNode}\n`)
    return 2
  }
  const real = await startRealNode({ name: 'compared' })
  const sandbox = await startSandboxNode({ seed: 3, transactionsPerSecond: 20, paced: true })
  try {
    process.stdout.write('making blocks …\n')
    const { miner } = await fundNode(real)
    const [realClient, ourClient] = [await plainClient(real.url), await plainClient(sandbox.url)]
    const looking = look(realClient, NETWORK)
    const mining = keepMining(real, miner.address, 2)
    const [seen, ours] = [await looking.finally(() => mining.stop()), await look(ourClient, 'testnet-10')]
    realClient.close()
    ourClient.close()
    return report(differencesOf(seen, ours))
  } finally {
    await real.stop()
    await sandbox.close()
  }
}

function differencesOf(real: Seen, ours: Seen): string[] {
  const lines: string[] = []
  for (const [method, shape] of real.answers) {
    const own = ours.answers.get(method)
    if (own === undefined) lines.push(`${method}: answered, refused by ours`)
    else lines.push(...shapeDifferences(method, shape, own))
  }
  for (const [name, text] of real.refusals) {
    const own = ours.refusals.get(name)
    if (own === undefined) lines.push(`${name}: refused with "${text}", answered by ours`)
    else if (own !== text) lines.push(`${name}: "${text}", ours "${own}"`)
  }
  for (const name of ours.refusals.keys())
    if (!real.refusals.has(name)) lines.push(`${name}: answered, ours "${ours.refusals.get(name)}"`)
  for (const [method, shape] of real.notifications) {
    const own = ours.notifications.get(method)
    if (own === undefined) lines.push(`${method}: never sent by ours`)
    else lines.push(...shapeDifferences(method, shape, own))
  }
  return lines
}

function report(lines: readonly string[]): number {
  const isKnown = (line: string) => KNOWN_DIFFERENCES.some(({ what }) => line.startsWith(what))
  const unknown = lines.filter((line) => !isKnown(line))
  for (const line of unknown) process.stdout.write(`${line}\n`)
  for (const { what } of KNOWN_DIFFERENCES.filter(({ what }) => !lines.some((line) => line.startsWith(what))))
    process.stdout.write(`no longer different: ${what}\n`)
  process.stdout.write(
    `${unknown.length} differences, and ${lines.length - unknown.length} with a known reason\n`,
  )
  return unknown.length === 0 ? 0 : 1
}

process.exitCode = await main()

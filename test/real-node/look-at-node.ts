/** Sends every possible request to a node and records the shapes of its answers, refusals and notifications. */
import type { Network } from '../../src/core/chain/network.ts'
import { RPC_METHODS } from '../../src/upstreams/methods.ts'
import { goodParams } from '../fakes/all-methods.ts'
import { plainClient } from '../fakes/plain-node-client.ts'
import { until } from '../until.ts'
import { BAD_PARAMS, ODD_FRAMES, UNKNOWN_HASH } from './odd-params.ts'
import { COINS_NEEDED, oddTransactions } from './odd-transactions.ts'
import { type Shape, shapeOf } from './shape.ts'
import type { Wallet } from './wallet.ts'
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
/** The other notifications are about rare events of the network. */
const USUAL_NOTIFICATIONS = 6

export interface Seen {
  readonly answers: ReadonlyMap<string, Shape>
  readonly refusals: ReadonlyMap<string, string>
  /** The same, unchanged as the node sent them. */
  readonly texts: readonly string[]
  readonly notifications: ReadonlyMap<string, Shape>
}

/** A node whose chain grows and that has transactions of all kinds; the wallet has coins on it. */
export interface LookedAt {
  readonly url: string
  readonly network: Network
  readonly wallet: Wallet
  /** Runs it while no block is mined, so that pending transactions stay pending. */
  whileStill(work: () => Promise<void>): Promise<void>
}

export async function lookAtNode({ url, network, wallet, whileStill }: LookedAt): Promise<Seen> {
  const client = await plainClient(url)
  const answers = new Map<string, Shape>()
  const refusals = new Map<string, string>()
  const texts: string[] = []
  const note = (name: string, answer: { error?: { message: string }; params?: unknown } | undefined) => {
    if (answer === undefined) refusals.set(name, 'closes the connection')
    else if (answer.error === undefined) answers.set(name, shapeOf([answer.params]))
    else {
      texts.push(answer.error.message)
      refusals.set(name, plain(answer.error.message))
    }
  }
  for (const [scope, body] of SCOPES)
    note(`subscribe ${scope}`, await client.ask('subscribe', { [scope]: body }))
  note('subscribe to nothing', await client.ask('subscribe', {}))
  note('subscribe to two', await client.ask('subscribe', { BlockAdded: {}, NewBlockTemplate: {} }))
  note('subscribe to the unknown', await client.ask('subscribe', { Nothing: {} }))

  const whole = (method: string, params: unknown = {}) => wholeParams(method, params, network)
  const call = (method: string, params?: unknown) => client.call(method, whole(method, params))
  const { good, variants } = await paramsFor(call)
  for (const method of RPC_METHODS.keys()) {
    note(method, await client.ask(method, whole(method, good[method])))
    for (const [name, params] of Object.entries(variants[method] ?? {}))
      note(`${method} ${name}`, await client.ask(method, whole(method, params)))
    for (const [at, params] of (BAD_PARAMS[method] ?? []).entries())
      note(`${method} #${at}`, await client.ask(method, params))
  }
  const coins = await wallet.coins({ rpc: client })
  await whileStill(async () => {
    for (const { name, method, transaction } of oddTransactions(wallet, coins.slice(0, COINS_NEEDED))) {
      const more = method === 'submitTransaction' ? { allowOrphan: false } : {}
      note(`${method} ${name}`, await client.ask(method, { transaction, ...more }))
    }
  })
  for (const [name, frame] of Object.entries(ODD_FRAMES)) refusals.set(name, await outcomeOf(url, frame))

  const sent = () => Map.groupBy(notificationsOf(client.frames), ({ method }) => method)
  await until('notifications', () => sent().size >= USUAL_NOTIFICATIONS, 20_000)
  const notifications = new Map(
    [...sent()].map(([method, frames]) => [method, shapeOf(frames.map(({ params }) => params))]),
  )
  for (const [scope, body] of SCOPES)
    note(`unsubscribe ${scope}`, await client.ask('unsubscribe', { [scope]: body }))
  client.close()
  return { answers, refusals, texts, notifications }
}

type Named = Record<string, unknown>

/** Good params by method, and other good ones by what they are for. */
async function paramsFor(call: (method: string, params?: unknown) => Promise<Named>) {
  const good: Named = await goodParams(call)
  // The oldest blocks of a young node carry nothing but coinbases.
  const { addedChainBlockHashes } = await call('getVirtualChainFromBlock', good.getVirtualChainFromBlock)
  const hash = (addedChainBlockHashes as string[]).at(-60)
  const { addresses } = good.getUtxosByAddresses as { addresses: string[] }
  Object.assign(good, {
    ...{ getCurrentBlockColor: { hash }, getBlockRewardInfo: { hash } },
    ...{ getConnections: { includeProfileData: true }, getMetrics: { customMetrics: true } },
    ...{ getFeeEstimateExperimental: { verbose: true }, getVirtualChainFromBlockV2: { startHash: hash } },
    getBlocks: { lowHash: hash, includeBlocks: true, includeTransactions: true },
  })
  const level = (dataVerbosityLevel: string) => ({ startHash: hash, dataVerbosityLevel })
  const variants: Record<string, Named> = {
    getVirtualChainFromBlockV2: {
      ...{ none: level('None'), low: level('Low'), high: level('High'), full: level('Full') },
      deep: { startHash: hash, minConfirmationCount: 20 },
      unknown: { startHash: UNKNOWN_HASH },
    },
    getVirtualChainFromBlock: { plain: { startHash: hash }, unknown: { startHash: UNKNOWN_HASH } },
    getBlock: { bare: { hash, includeTransactions: false } },
    getBlocks: { hashes: { lowHash: hash }, bare: { lowHash: hash, includeBlocks: true } },
    getConnections: { bare: {} },
    getFeeEstimateExperimental: { bare: {} },
    getMempoolEntries: {
      orphans: { includeOrphanPool: true, filterTransactionPool: true },
      none: { filterTransactionPool: true },
    },
    getMempoolEntriesByAddresses: { both: { addresses, includeOrphanPool: true } },
    getUtxoReturnAddress: {
      unknown: { ...(good.getUtxoReturnAddress as object), txid: UNKNOWN_HASH },
      later: { txid: UNKNOWN_HASH, acceptingBlockDaaScore: 9_000_000_000 },
    },
    getSeqCommitLaneProof: { unknown: { blockHash: UNKNOWN_HASH, laneKey: UNKNOWN_HASH } },
    getBlockTemplate: {
      extra: { ...(good.getBlockTemplate as object), extraData: [1, 2, 255] },
      long: { ...(good.getBlockTemplate as object), extraData: Array.from({ length: 300 }, () => 7) },
    },
    getBalancesByAddresses: { none: { addresses: [] } },
    getUtxosByAddresses: { none: { addresses: [] } },
  }
  return { good, variants }
}

/** The answer to a frame that no client should send. */
async function outcomeOf(url: string, frame: string): Promise<string> {
  const client = await plainClient(url)
  client.send(frame)
  // An answer to the second frame shows that the first one got none.
  const next = client.call('ping').then(
    () => (client.frames.length > 1 ? plain(client.frames[0] ?? '') : 'no answer'),
    () => 'closes the connection',
  )
  const outcome = await next
  client.close()
  return outcome
}

function notificationsOf(frames: readonly string[]): { method: string; params: unknown }[] {
  return frames
    .map((text) => JSON.parse(text) as { id?: unknown; method: string; params: unknown })
    .filter(({ id }) => id === undefined || id === null)
}

/** The text without what differs every time. */
function plain(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{64}/g, '<hash>')
    .replaceAll(/kaspa(?:test|sim|dev)?:[a-z0-9]+/g, '<address>')
    .replaceAll(/\d+/g, '<n>')
}

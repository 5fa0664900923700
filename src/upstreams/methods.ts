/**
 * The RPC table lists every node method that may be forwarded; all others are refused. `price` and the two lists come
 * from the contract. `connection` says how the answer travels: methods whose answers can be large or slow use the heavy
 * sockets in their separate thread; a method with a heavy price but a small answer does not have to wait there.
 */
import type { TSchema } from 'typebox'
import {
  addressParam,
  asWire,
  blueWorkParam,
  choiceParam,
  flagParam,
  hashParam,
  listParam,
  membersParam,
  optionalParam,
  subnetworkParam,
  transactionParam,
  unsignedParam,
  type WireKind,
  type WireSchema,
} from './param-kinds.ts'

export type ConnectionKind = 'light' | 'heavy'

export interface RpcMethod {
  readonly name: string
  readonly weight: 'light' | 'heavy'
  readonly price: 1 | 5
  readonly connection: ConnectionKind
  /** A write is never sent to two nodes at once. */
  readonly write: boolean
  readonly needsUtxoIndex: boolean
  /** How long one node may take; after that it counts as hanging. */
  readonly timeoutMs: number
  /** How long an answer may be cached; 0 means never. Only for answers that the node itself caches for as long. */
  readonly cacheMs: number
  readonly params: TSchema
}

interface Row {
  params?: Record<string, TSchema>
  connection?: ConnectionKind
  write?: boolean
  utxoIndex?: boolean
  timeoutMs?: number
  cacheMs?: number
}

export const MAX_ADDRESSES = 1_000

/**
 * Limits for a submitted block. A call is validated in one go, so these bound how long it blocks the event loop. A
 * block of the network has at most 16 direct parents and 226 levels. Its transactions weigh up to 500,000 grams: a
 * signed input weighs at least 1,118 grams, an output with a standard script 412, a transaction with a standard output
 * 570.
 */
const MAX_LEVELS = 256
const MAX_LEVEL_PARENTS = 32
const MAX_BLOCK_TRANSACTIONS = 1_000
/** For the inputs and outputs of all transactions of a call together. */
export const MAX_INPUTS_AND_OUTPUTS = 2_000

const LIGHT_TIMEOUT_MS = 5_000
const HEAVY_TIMEOUT_MS = 30_000
const HUGE_TIMEOUT_MS = 60_000
const SUBMIT_TIMEOUT_MS = 4_000

const u64 = { bits: 64 } as const
const addresses = listParam('addresses of the network', addressParam('an address'), MAX_ADDRESSES)
const includeOrphanPool = flagParam('also look at orphans', false)
const filterTransactionPool = flagParam('leave out the pool itself (orphans only)', false)

const rawHeader = membersParam({
  version: unsignedParam('header version', { bits: 16 }),
  parentsByLevel: listParam(
    'parents, one list per level',
    listParam('parents', hashParam('a block hash'), MAX_LEVEL_PARENTS),
    MAX_LEVELS,
  ),
  hashMerkleRoot: hashParam('merkle root'),
  acceptedIdMerkleRoot: hashParam('merkle root of accepted ids'),
  utxoCommitment: hashParam('UTXO commitment'),
  timestamp: unsignedParam('milliseconds', u64),
  bits: unsignedParam('difficulty bits', { bits: 32 }),
  nonce: unsignedParam('nonce', u64),
  daaScore: unsignedParam('DAA score', u64),
  blueWork: blueWorkParam('blue work, hex'),
  blueScore: unsignedParam('blue score', u64),
  pruningPoint: hashParam('pruning point'),
})
const rawBlock = membersParam({
  header: rawHeader,
  transactions: listParam(
    `transactions, with up to ${MAX_INPUTS_AND_OUTPUTS.toLocaleString('en')} inputs and outputs together`,
    transactionParam('a transaction'),
    MAX_BLOCK_TRANSACTIONS,
  ),
})

const LIGHT: Record<string, Row> = {
  ping: {},
  getServerInfo: { cacheMs: 200 },
  getInfo: { cacheMs: 200 },
  getSyncStatus: {},
  getCurrentNetwork: { cacheMs: 5_000 },
  getSystemInfo: { cacheMs: 5_000 },
  getConnections: { params: { includeProfileData: flagParam('include CPU and memory use', false) } },
  getMetrics: {
    params: {
      processMetrics: flagParam('include process metrics', true),
      connectionMetrics: flagParam('include connection metrics', true),
      bandwidthMetrics: flagParam('include bandwidth metrics', true),
      consensusMetrics: flagParam('include consensus metrics', true),
      storageMetrics: flagParam('include storage metrics', true),
      customMetrics: flagParam('include custom metrics', false),
    },
    cacheMs: 500,
  },
  getPeerAddresses: { cacheMs: 500 },
  getConnectedPeerInfo: { cacheMs: 500 },
  getBlockDagInfo: { cacheMs: 100 },
  getSink: {},
  getSinkBlueScore: {},
  getBlockCount: { cacheMs: 100 },
  getCurrentBlockColor: { params: { hash: hashParam('a block hash') } },
  getBlockRewardInfo: { params: { hash: hashParam('a block hash') } },
  getSeqCommitLaneProof: {
    params: { blockHash: hashParam('a chain block'), laneKey: hashParam('the lane') },
  },
  getBalanceByAddress: { params: { address: addressParam('the address') }, utxoIndex: true },
  getUtxoReturnAddress: {
    params: {
      txid: hashParam('a transaction id'),
      acceptingBlockDaaScore: unsignedParam('DAA score of its accepting block', u64),
    },
  },
  getFeeEstimate: { cacheMs: 500 },
  getFeeEstimateExperimental: { params: { verbose: flagParam('include the details', false) }, cacheMs: 500 },
  getCoinSupply: { utxoIndex: true, cacheMs: 500 },
  getDaaScoreTimestampEstimate: {
    params: { daaScores: listParam('DAA scores', unsignedParam('a DAA score', u64), 1_000) },
  },
  estimateNetworkHashesPerSecond: {
    params: {
      windowSize: unsignedParam('blocks to look back', { bits: 32, min: 1, max: 10_000 }, 1_000),
      startHash: optionalParam(hashParam('count back from this block; the virtual block by default')),
    },
  },
  getSubnetwork: { params: { subnetworkId: subnetworkParam('the subnetwork') } },
}

const HEAVY: Record<string, Row> = {
  getBlock: {
    params: {
      hash: hashParam('a block hash'),
      includeTransactions: flagParam('include the transactions', true),
    },
    connection: 'heavy',
  },
  getBlocks: {
    params: {
      lowHash: optionalParam(hashParam('the first block; the genesis by default')),
      includeBlocks: flagParam('include the blocks', false),
      includeTransactions: flagParam('include their transactions (needs includeBlocks)', false),
    },
    connection: 'heavy',
    timeoutMs: HUGE_TIMEOUT_MS,
  },
  getHeaders: {
    params: {
      startHash: hashParam('the first header'),
      limit: unsignedParam('how many', u64, 100),
      isAscending: flagParam('towards the tip', true),
    },
    connection: 'heavy',
  },
  getVirtualChainFromBlock: {
    params: {
      startHash: hashParam('a block of the selected chain'),
      includeAcceptedTransactionIds: flagParam('include the accepted ids', false),
      minConfirmationCount: optionalParam(unsignedParam('leave out younger blocks', u64)),
    },
    connection: 'heavy',
    timeoutMs: HUGE_TIMEOUT_MS,
  },
  getVirtualChainFromBlockV2: {
    params: {
      startHash: hashParam('a block of the selected chain'),
      dataVerbosityLevel: optionalParam(choiceParam('how much to include', ['None', 'Low', 'High', 'Full'])),
      minConfirmationCount: optionalParam(unsignedParam('leave out younger blocks', u64)),
    },
    connection: 'heavy',
    timeoutMs: HUGE_TIMEOUT_MS,
  },
  getBlockTemplate: {
    params: {
      payAddress: addressParam('who is paid'),
      extraData: listParam('bytes for the coinbase payload', unsignedParam('a byte', { bits: 8 }), 1_024, []),
    },
    connection: 'heavy',
  },
  submitBlock: {
    params: { block: rawBlock, allowNonDaaBlocks: flagParam('accept a block off the DAA window', false) },
    write: true,
    timeoutMs: 10_000,
  },
  getBalancesByAddresses: { params: { addresses }, connection: 'heavy', utxoIndex: true },
  getUtxosByAddresses: { params: { addresses }, connection: 'heavy', utxoIndex: true },
  getMempoolEntry: {
    params: { transactionId: hashParam('a transaction id'), includeOrphanPool, filterTransactionPool },
    timeoutMs: LIGHT_TIMEOUT_MS,
  },
  getMempoolEntries: { params: { includeOrphanPool, filterTransactionPool }, connection: 'heavy' },
  getMempoolEntriesByAddresses: {
    params: { addresses, includeOrphanPool, filterTransactionPool },
    connection: 'heavy',
  },
  submitTransaction: {
    params: {
      transaction: transactionParam('a signed transaction'),
      allowOrphan: flagParam('accept it without its parents', false),
    },
    write: true,
    timeoutMs: SUBMIT_TIMEOUT_MS,
  },
  submitTransactionReplacement: {
    params: { transaction: transactionParam('a signed transaction that replaces one in the mempool') },
    write: true,
    timeoutMs: SUBMIT_TIMEOUT_MS,
  },
}

/** Methods that the contract names as refused, in addition to everything that begins with `notify`. */
export const BLOCKED_METHODS: readonly string[] = [
  'addPeer',
  'ban',
  'unban',
  'shutdown',
  'resolveFinalityConflict',
  'subscribe',
  'unsubscribe',
]
const BLOCKED_PREFIX = 'notify'

export function isBlocked(name: string): boolean {
  return BLOCKED_METHODS.includes(name) || name.startsWith(BLOCKED_PREFIX)
}

function build(rows: Record<string, Row>, weight: 'light' | 'heavy'): [string, RpcMethod][] {
  return Object.entries(rows).map(([name, row]) => [
    name,
    {
      name,
      weight,
      price: weight === 'light' ? 1 : 5,
      connection: row.connection ?? 'light',
      write: row.write ?? false,
      needsUtxoIndex: row.utxoIndex ?? false,
      timeoutMs: row.timeoutMs ?? (weight === 'light' ? LIGHT_TIMEOUT_MS : HEAVY_TIMEOUT_MS),
      cacheMs: row.cacheMs ?? 0,
      params: membersParam(row.params ?? {}),
    },
  ])
}

export const RPC_METHODS: ReadonlyMap<string, RpcMethod> = new Map([
  ...build(LIGHT, 'light'),
  ...build(HEAVY, 'heavy'),
])

/** The paths of all values of this kind in a method's params, such as `addresses[]` or `block.transactions[]`. */
export function placesOf(method: RpcMethod, kind: WireKind): string[] {
  const found: string[] = []
  const walk = (schema: WireSchema, path: string) => {
    if (schema['x-wire'] === kind) found.push(path)
    if (schema.items !== undefined) walk(schema.items, `${path}[]`)
    for (const [name, inner] of Object.entries(schema.properties ?? {})) {
      walk(inner, path === '' ? name : `${path}.${name}`)
    }
  }
  walk(asWire(method.params), '')
  return found
}

/**
 * The RPC table: every node method that may be forwarded, once. What is not in it is refused. `price` and the
 * two lists are the contract's; `lane` is where the answer travels: a method whose answer can be large goes
 * through the heavy sockets (a thread of its own), a heavy-priced one with a small answer does not wait there.
 */
import type { TSchema } from 'typebox'
import {
  address,
  asWire,
  blueWork,
  choice,
  flag,
  hash,
  list,
  members,
  optional,
  subnetworkId,
  transaction,
  unsigned,
  type WireKind,
  type WireSchema,
} from './param-kinds.ts'

export type Lane = 'light' | 'heavy'

export interface Method {
  readonly name: string
  readonly weight: 'light' | 'heavy'
  readonly price: 1 | 5
  readonly lane: Lane
  /** A write is never sent to two nodes at once. */
  readonly write: boolean
  readonly needsUtxoIndex: boolean
  /** How long one node may take; after that it counts as hanging. */
  readonly timeoutMs: number
  /** How long an answer may be given again; 0 = never. Only what the node itself keeps for as long. */
  readonly cacheMs: number
  readonly params: TSchema
}

interface Row {
  params?: Record<string, TSchema>
  lane?: Lane
  write?: boolean
  utxoIndex?: boolean
  timeoutMs?: number
  cacheMs?: number
}

export const MAX_ADDRESSES = 1_000
const LIGHT_TIMEOUT_MS = 5_000
const HEAVY_TIMEOUT_MS = 30_000
const HUGE_TIMEOUT_MS = 60_000
const SUBMIT_TIMEOUT_MS = 4_000

const u64 = { bits: 64 } as const
const addresses = list('addresses of the network', address('an address'), MAX_ADDRESSES)
const includeOrphanPool = flag('also look at orphans', false)
const filterTransactionPool = flag('leave out the pool itself (orphans only)', false)

const rawHeader = members({
  version: unsigned('header version', { bits: 16 }),
  parentsByLevel: list('parents, one list per level', list('parents', hash('a block hash'), 256), 256),
  hashMerkleRoot: hash('merkle root'),
  acceptedIdMerkleRoot: hash('merkle root of accepted ids'),
  utxoCommitment: hash('UTXO commitment'),
  timestamp: unsigned('milliseconds', u64),
  bits: unsigned('difficulty bits', { bits: 32 }),
  nonce: unsigned('nonce', u64),
  daaScore: unsigned('DAA score', u64),
  blueWork: blueWork('blue work, hex'),
  blueScore: unsigned('blue score', u64),
  pruningPoint: hash('pruning point'),
})
const rawBlock = members({
  header: rawHeader,
  transactions: list('transactions', transaction('a transaction'), 5_000),
})

const LIGHT: Record<string, Row> = {
  ping: {},
  getServerInfo: { cacheMs: 200 },
  getInfo: { cacheMs: 200 },
  getSyncStatus: {},
  getCurrentNetwork: { cacheMs: 5_000 },
  getSystemInfo: { cacheMs: 5_000 },
  getConnections: { params: { includeProfileData: flag('include CPU and memory use', false) } },
  getMetrics: {
    params: {
      processMetrics: flag('include process metrics', true),
      connectionMetrics: flag('include connection metrics', true),
      bandwidthMetrics: flag('include bandwidth metrics', true),
      consensusMetrics: flag('include consensus metrics', true),
      storageMetrics: flag('include storage metrics', true),
      customMetrics: flag('include custom metrics', false),
    },
    cacheMs: 500,
  },
  getPeerAddresses: { cacheMs: 500 },
  getConnectedPeerInfo: { cacheMs: 500 },
  getBlockDagInfo: { cacheMs: 100 },
  getSink: {},
  getSinkBlueScore: {},
  getBlockCount: { cacheMs: 100 },
  getCurrentBlockColor: { params: { hash: hash('a block hash') } },
  getBlockRewardInfo: { params: { hash: hash('a block hash') } },
  getSeqCommitLaneProof: { params: { blockHash: hash('a chain block'), laneKey: hash('the lane') } },
  getBalanceByAddress: { params: { address: address('the address') }, utxoIndex: true },
  getUtxoReturnAddress: {
    params: {
      txid: hash('a transaction id'),
      acceptingBlockDaaScore: unsigned('DAA score of its accepting block', u64),
    },
  },
  getFeeEstimate: { cacheMs: 500 },
  getFeeEstimateExperimental: { params: { verbose: flag('include the details', false) }, cacheMs: 500 },
  getCoinSupply: { utxoIndex: true, cacheMs: 500 },
  getDaaScoreTimestampEstimate: {
    params: { daaScores: list('DAA scores', unsigned('a DAA score', u64), 1_000) },
  },
  estimateNetworkHashesPerSecond: {
    params: {
      windowSize: unsigned('blocks to look back', { bits: 32, min: 1, max: 10_000 }, 1_000),
      startHash: optional(hash('count back from this block; the virtual block by default')),
    },
  },
  getSubnetwork: { params: { subnetworkId: subnetworkId('the subnetwork') } },
}

const HEAVY: Record<string, Row> = {
  getBlock: {
    params: { hash: hash('a block hash'), includeTransactions: flag('include the transactions', true) },
    lane: 'heavy',
  },
  getBlocks: {
    params: {
      lowHash: optional(hash('the first block; the genesis by default')),
      includeBlocks: flag('include the blocks', false),
      includeTransactions: flag('include their transactions (needs includeBlocks)', false),
    },
    lane: 'heavy',
    timeoutMs: HUGE_TIMEOUT_MS,
  },
  getHeaders: {
    params: {
      startHash: hash('the first header'),
      limit: unsigned('how many', u64, 100),
      isAscending: flag('towards the tip', true),
    },
    lane: 'heavy',
  },
  getVirtualChainFromBlock: {
    params: {
      startHash: hash('a block of the selected chain'),
      includeAcceptedTransactionIds: flag('include the accepted ids', false),
      minConfirmationCount: optional(unsigned('leave out younger blocks', u64)),
    },
    lane: 'heavy',
    timeoutMs: HUGE_TIMEOUT_MS,
  },
  getVirtualChainFromBlockV2: {
    params: {
      startHash: hash('a block of the selected chain'),
      dataVerbosityLevel: optional(choice('how much to include', ['None', 'Low', 'High', 'Full'])),
      minConfirmationCount: optional(unsigned('leave out younger blocks', u64)),
    },
    lane: 'heavy',
    timeoutMs: HUGE_TIMEOUT_MS,
  },
  getBlockTemplate: {
    params: {
      payAddress: address('who is paid'),
      extraData: list('bytes for the coinbase payload', unsigned('a byte', { bits: 8 }), 1_024, []),
    },
    lane: 'heavy',
  },
  submitBlock: {
    params: { block: rawBlock, allowNonDaaBlocks: flag('accept a block off the DAA window', false) },
    write: true,
    timeoutMs: 10_000,
  },
  getBalancesByAddresses: { params: { addresses }, utxoIndex: true },
  getUtxosByAddresses: { params: { addresses }, lane: 'heavy', utxoIndex: true },
  getMempoolEntry: {
    params: { transactionId: hash('a transaction id'), includeOrphanPool, filterTransactionPool },
    timeoutMs: LIGHT_TIMEOUT_MS,
  },
  getMempoolEntries: { params: { includeOrphanPool, filterTransactionPool }, lane: 'heavy' },
  getMempoolEntriesByAddresses: {
    params: { addresses, includeOrphanPool, filterTransactionPool },
    lane: 'heavy',
  },
  submitTransaction: {
    params: {
      transaction: transaction('a signed transaction'),
      allowOrphan: flag('accept it without its parents', false),
    },
    write: true,
    timeoutMs: SUBMIT_TIMEOUT_MS,
  },
  submitTransactionReplacement: {
    params: { transaction: transaction('a signed transaction that replaces one in the mempool') },
    write: true,
    timeoutMs: SUBMIT_TIMEOUT_MS,
  },
}

/** Named in the contract as refused; together with everything that begins with `notify`. */
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

function build(rows: Record<string, Row>, weight: 'light' | 'heavy'): [string, Method][] {
  return Object.entries(rows).map(([name, row]) => [
    name,
    {
      name,
      weight,
      price: weight === 'light' ? 1 : 5,
      lane: row.lane ?? 'light',
      write: row.write ?? false,
      needsUtxoIndex: row.utxoIndex ?? false,
      timeoutMs: row.timeoutMs ?? (weight === 'light' ? LIGHT_TIMEOUT_MS : HEAVY_TIMEOUT_MS),
      cacheMs: row.cacheMs ?? 0,
      params: members(row.params ?? {}),
    },
  ])
}

export const METHODS: ReadonlyMap<string, Method> = new Map([
  ...build(LIGHT, 'light'),
  ...build(HEAVY, 'heavy'),
])

/** Where in a method's params values of that kind sit: `addresses[]`, `block.transactions[]`. */
export function placesOf(method: Method, kind: WireKind): string[] {
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

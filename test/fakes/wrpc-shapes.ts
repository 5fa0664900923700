/**
 * What a node can deserialise, typed from its request structs and not taken from our own table: the reference for
 * "no malformed frame leaves". Checks the raw text with plain JSON and the digits of its numbers.
 */
import { isAddress } from './address-oracle.ts'

type Check = (value: unknown, raw: string) => boolean
type Shape = Record<string, Check>

const hex =
  (digits: number): Check =>
  (v) =>
    typeof v === 'string' && v.length === digits && /^[0-9a-f]*$/.test(v)
const anyHex: Check = (v) => typeof v === 'string' && v.length % 2 === 0 && /^[0-9a-f]*$/.test(v)
const bool: Check = (v) => typeof v === 'boolean'
/** Numbers were replaced by {n: digits} so that 64 bits stay visible. */
const uint =
  (max: bigint): Check =>
  (v) => {
    const digits = (v as { n?: string } | null)?.n
    return digits !== undefined && /^(0|[1-9]\d*)$/.test(digits) && BigInt(digits) <= max
  }
const u8 = uint(255n)
const u16 = uint(65535n)
const u32 = uint(4294967295n)
const u64 = uint(18446744073709551615n)
const listOf =
  (item: Check): Check =>
  (v, raw) =>
    Array.isArray(v) && v.every((entry) => item(entry, raw))
const orNull =
  (check: Check): Check =>
  (v, raw) =>
    v === null || v === undefined || check(v, raw)
const nothing: Check = (v) => v === null || v === undefined
const object =
  (shape: Shape): Check =>
  (v, raw) =>
    typeof v === 'object' &&
    v !== null &&
    !Array.isArray(v) &&
    Object.keys(v).every((name) => name in shape) &&
    Object.entries(shape).every(([name, check]) => check((v as Record<string, unknown>)[name], raw))

const address: Check = (v) => typeof v === 'string' && isAddress(v)
const scriptPublicKey: Check = (v) => typeof v === 'string' && v.length >= 4 && anyHex(v, '')
const input = object({
  previousOutpoint: object({ transactionId: hex(64), index: u32 }),
  signatureScript: anyHex,
  sequence: u64,
  sigOpCount: u8,
  computeBudget: u16,
  verboseData: nothing,
})
const output = object({
  value: u64,
  scriptPublicKey,
  verboseData: nothing,
  covenant: orNull(object({ authorizingInput: u16, covenantId: hex(64) })),
})
const transaction = object({
  version: u16,
  inputs: listOf(input),
  outputs: listOf(output),
  lockTime: u64,
  subnetworkId: hex(40),
  gas: u64,
  payload: anyHex,
  storageMass: u64,
  mass: u64,
  verboseData: nothing,
})
const header = object({
  version: u16,
  parentsByLevel: listOf(listOf(hex(64))),
  hashMerkleRoot: hex(64),
  acceptedIdMerkleRoot: hex(64),
  utxoCommitment: hex(64),
  timestamp: u64,
  bits: u32,
  nonce: u64,
  daaScore: u64,
  blueWork: hex(48),
  blueScore: u64,
  pruningPoint: hex(64),
})
const pools = { includeOrphanPool: bool, filterTransactionPool: bool }

export const SHAPES: Record<string, Shape> = {
  ping: {},
  getServerInfo: {},
  getInfo: {},
  getSyncStatus: {},
  getCurrentNetwork: {},
  getSystemInfo: {},
  getConnections: { includeProfileData: bool },
  getMetrics: {
    processMetrics: bool,
    connectionMetrics: bool,
    bandwidthMetrics: bool,
    consensusMetrics: bool,
    storageMetrics: bool,
    customMetrics: bool,
  },
  getPeerAddresses: {},
  getConnectedPeerInfo: {},
  getBlockDagInfo: {},
  getSink: {},
  getSinkBlueScore: {},
  getBlockCount: {},
  getCurrentBlockColor: { hash: hex(64) },
  getBlockRewardInfo: { hash: hex(64) },
  getSeqCommitLaneProof: { blockHash: hex(64), laneKey: hex(64) },
  getBalanceByAddress: { address },
  getUtxoReturnAddress: { txid: hex(64), acceptingBlockDaaScore: u64 },
  getFeeEstimate: {},
  getFeeEstimateExperimental: { verbose: bool },
  getCoinSupply: {},
  getDaaScoreTimestampEstimate: { daaScores: listOf(u64) },
  estimateNetworkHashesPerSecond: { windowSize: u32, startHash: orNull(hex(64)) },
  getSubnetwork: { subnetworkId: hex(40) },
  getBlock: { hash: hex(64), includeTransactions: bool },
  getBlocks: { lowHash: orNull(hex(64)), includeBlocks: bool, includeTransactions: bool },
  getHeaders: { startHash: hex(64), limit: u64, isAscending: bool },
  getVirtualChainFromBlock: {
    startHash: hex(64),
    includeAcceptedTransactionIds: bool,
    minConfirmationCount: orNull(u64),
  },
  getVirtualChainFromBlockV2: {
    startHash: hex(64),
    dataVerbosityLevel: orNull((v) => ['None', 'Low', 'High', 'Full'].includes(String(v))),
    minConfirmationCount: orNull(u64),
  },
  getBlockTemplate: { payAddress: address, extraData: listOf(u8) },
  submitBlock: { block: object({ header, transactions: listOf(transaction) }), allowNonDaaBlocks: bool },
  getBalancesByAddresses: { addresses: listOf(address) },
  getUtxosByAddresses: { addresses: listOf(address) },
  getMempoolEntry: { transactionId: hex(64), ...pools },
  getMempoolEntries: pools,
  getMempoolEntriesByAddresses: { addresses: listOf(address), ...pools },
  submitTransaction: { transaction, allowOrphan: bool },
  submitTransactionReplacement: { transaction },
}

/** Whether a node could read this request. `raw` is the text of the params. */
export function deserialises(method: string, raw: string): boolean {
  const shape = SHAPES[method]
  if (shape === undefined) return false
  let params: unknown
  try {
    params = JSON.parse(raw, (_, value: unknown, context?: { source?: string }) =>
      typeof value === 'number' ? { n: context?.source ?? '' } : value,
    )
  } catch {
    return false
  }
  return object(shape)(params, raw)
}

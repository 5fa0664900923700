import type { ExampleSamples } from '../../../contract/example.ts'
import { readTransaction, writeTransaction } from '../../../core/chain/transaction-json.ts'
import type { MarketRow } from '../../../core/rows/schemas.ts'
import { formatTime } from '../../../core/time.ts'
import { addressOfScript } from '../../../parser/script-address.ts'
import { transactionId } from '../../../parser/transaction-id.ts'
import type { FeedInfo } from '../../../store/series.ts'
import type { TokenFacts } from '../../../store/tokens.ts'
import type { Services } from '../services.ts'

/** On a quiet chain a block may contain nothing but its coinbase. */
const MAX_BLOCKS = 40
const CALL_DEADLINE_MS = 1_000
/** How many tokens are searched for one with holders. */
const MAX_TOKENS = 100
/** Every recorded source has a snapshot this long after the first one. */
const SNAPSHOTS_START_MS = 60_000
const COINBASE_SUBNETWORK = `01${'00'.repeat(19)}`

/** Example values that work in this environment. Values that do not exist yet are left out. */
export async function readSamples(services: Services, nowMs: number): Promise<ExampleSamples> {
  const market = await readMarket(services, nowMs)
  return {
    ...((await hasSnapshots(services, nowMs)) ? { time: formatTime(nowMs) } : {}),
    ...(market === undefined ? {} : { market }),
    ...(await readConfirmed(services)),
    ...(await readCovenant(services)),
    ...(await readToken(services)),
  }
}

async function readCovenant({ chain }: Services): Promise<ExampleSamples> {
  const found = await chain.index.someCovenantUtxo()
  if (found?.address == null) return {}
  return { covenantId: found.covenantId, covenantAddress: found.address }
}

async function readToken({ chain }: Services): Promise<ExampleSamples> {
  const { tokens } = await chain.index.tokens({ limit: MAX_TOKENS })
  const found = tokens.find(({ value }) => (JSON.parse(value) as TokenFacts).holders > 0) ?? tokens[0]
  return found === undefined ? {} : { tokenId: found.token }
}

/**
 * The perpetual exchange refuses a time before its first snapshot, which arrives some seconds after the first start. If
 * it is not recorded, the snapshots of the other sources decide.
 */
async function hasSnapshots({ market }: Services, nowMs: number): Promise<boolean> {
  const feeds = await market.store.series.feeds({ dataset: 'snapshots' })
  const isBefore = (timeMs: number) => (info: FeedInfo) => info.firstTs !== undefined && info.firstTs < timeMs
  const perpetual = feeds.filter(({ feed }) => feed.source === 'perpdex' && feed.symbol === 'BTC')
  return perpetual.some(isBefore(nowMs)) || feeds.some(isBefore(nowMs - SNAPSHOTS_START_MS))
}

async function readMarket({ market }: Services, atMs: number): Promise<string | undefined> {
  const query = { source: 'predmkt_a', limit: 1, separator: '' } as const
  const open = await market.store.markets.list({ ...query, state: { atMs, status: 'open' } })
  const { text } = open.count > 0 ? open : await market.store.markets.list(query)
  return text === '' ? undefined : ((JSON.parse(text) as MarketRow).slug ?? undefined)
}

interface NodeBlock {
  readonly transactions: readonly unknown[]
  readonly verboseData?: { readonly selectedParentHash?: string }
}

/** The newest transaction that is confirmed in the index, found by walking down the chain from the checkpoint. */
async function readConfirmed({ chain }: Services): Promise<ExampleSamples> {
  let hash = (await chain.index.checkpoint())?.hash
  for (let block = 0; hash !== undefined && block < MAX_BLOCKS; block++) {
    const outcome = await chain.upstreams.call(
      'getBlock',
      { hash, includeTransactions: true },
      { deadlineMs: CALL_DEADLINE_MS },
    )
    if (!outcome.ok) return {}
    const { block: found } = outcome.value as unknown as { block: NodeBlock }
    for (const json of found.transactions) {
      const sample = await readSample(json, chain)
      if (sample !== undefined) return sample
    }
    hash = found.verboseData?.selectedParentHash
  }
  return {}
}

async function readSample(
  json: unknown,
  { index, upstreams }: Services['chain'],
): Promise<ExampleSamples | undefined> {
  const read = readTransaction(json)
  if (!read.ok || read.transaction.subnetworkId === COINBASE_SUBNETWORK) return undefined
  const { transaction } = read
  const txId = transactionId(transaction)
  if ((await index.transaction(txId))?.status !== 'confirmed') return undefined
  const [first] = transaction.outputs
  const address = first && addressOfScript(first.scriptPublicKey, upstreams.network)
  return {
    txId,
    ...(address == null ? {} : { address }),
    transaction: plainJson(writeTransaction(transaction)),
  }
}

/** Leaves out null members and writes integers above 2^53 as text, which submissions also accept. */
function plainJson(value: unknown): unknown {
  const text = JSON.stringify(value, (_name, inner: unknown) => {
    if (inner === null) return undefined
    if (typeof inner !== 'bigint') return inner
    return inner <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(inner) : String(inner)
  })
  return JSON.parse(text)
}

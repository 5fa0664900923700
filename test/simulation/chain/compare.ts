/**
 * Laws 6 and 7 once everything has settled: the log and the index agree with the network's own ledger, for every block,
 * every transaction and every address, except for what a gap declares missing.
 */
import type { AddressRow, ChainStores, HistoryPlace } from '../../../src/store/chain.ts'
import type { EventFilter, StoredEvent } from '../../../src/store/events.ts'
import type { Random } from '../random.ts'
import type { ArchivedBlock, ArchivedMovement, ChainArchive } from './archive.ts'
import { type AcceptedBy, compareAddressRow, compareTransactionRow } from './compare-rows.ts'
import type { Confirmed, LogLaws } from './log-laws.ts'
import type { TruthOf } from './transaction-truth.ts'

const PAGE_EVENTS = 1_000

export async function allEvents(stores: ChainStores, afterSeq = 0): Promise<StoredEvent[]> {
  const events: StoredEvent[] = []
  for (let at = afterSeq; ; ) {
    const page = await stores.events.after({ afterSeq: at, limit: PAGE_EVENTS })
    events.push(...page.events)
    at = page.upToSeq
    if (!page.more) return events
  }
}

async function historyOf(stores: ChainStores, address: string, limit = 200): Promise<AddressRow[]> {
  const rows: AddressRow[] = []
  for (let before: HistoryPlace | undefined; ; ) {
    const page = await stores.chain.addressPage({ address, limit, ...(before ? { before } : {}) })
    rows.push(...page.rows)
    before = page.rows.at(-1)?.place
    if (!page.hasMore) return rows
  }
}

interface Truth extends ArchivedMovement, AcceptedBy {
  readonly txId: string
  readonly address: string
  /** Its position among everything that the chain accepted. */
  readonly order: number
}

/** Every movement of the chain, by transaction and address. */
function movementsOf(blocks: readonly ArchivedBlock[]): Map<string, Truth> {
  const truth = new Map<string, Truth>()
  let order = 0
  for (const block of blocks)
    for (const { txId, blockHash, blockTimeMs, movements } of block.accepted) {
      const common = { txId, blockHash, blockTimeMs, acceptingBlock: block, order: order++ }
      for (const [address, movement] of movements)
        truth.set(`${txId} ${address}`, { ...common, address, ...movement })
    }
  return truth
}

/** Compares what the log says at the end with the chain. */
export function compareLog(laws: LogLaws, archive: ChainArchive): string[] {
  const wrong: string[] = []
  const chain = archive.chain()
  const inChain = new Map(chain.map((block) => [block.hash, block]))
  const segments = laws.segments()
  const followed = segments.at(-1)?.chain ?? []
  const expected = followed.length === 0 ? [] : chain.slice(-followed.length)
  const differs = followed.findIndex((hash, index) => hash !== expected[index]?.hash)
  if (differs >= 0)
    wrong.push(`6 the followed chain has ${followed[differs]} where the chain has ${expected[differs]?.hash}`)

  const blocksMissing = laws.gaps().filter(({ reason }) => reason !== 'unreadable')
  const isMissing = (timeMs = Number.NaN) =>
    blocksMissing.some(({ fromMs, toMs }) => timeMs >= fromMs && timeMs <= toMs)
  /** A block from a gap may be merged after it, by a reorganisation that began in the gap. */
  const isExpected = (hash: string) => !laws.isEarlierBlock(hash) && !isMissing(archive.timeOf(hash))
  const covered: ArchivedBlock[] = []
  for (const { chain: hashes } of segments)
    for (const hash of hashes) {
      const block = inChain.get(hash)
      if (block === undefined) continue
      covered.push(block)
      if (isMissing(block.timeMs)) continue
      for (const merged of block.mergeSet)
        if (!laws.hasBlock(merged) && isExpected(merged))
          wrong.push(`6 block ${merged}, merged by ${hash}, was never logged`)
    }

  for (const { accepted } of covered)
    for (const { txId, isCoinbase } of accepted)
      if (!isCoinbase && !laws.isReported(txId)) wrong.push(`6 ${txId} was accepted without a mempool_entry`)
  const truth = movementsOf(covered)
  const standing = new Map(laws.standing().map((logged) => [`${logged.txId} ${logged.address}`, logged]))
  for (const [key, { received, sent, acceptingBlock }] of truth) {
    const logged = standing.get(key)
    if (logged === undefined) wrong.push(`6 ${key}, accepted by ${acceptingBlock.hash}, was not logged`)
    else if (
      logged.received !== received ||
      logged.sent !== sent ||
      logged.daaScore !== acceptingBlock.daaScore
    )
      wrong.push(`6 ${key}: logged +${logged.received} -${logged.sent}, it is +${received} -${sent}`)
  }
  const last = segments.length - 1
  for (const [key, logged] of standing)
    if (!truth.has(key) && logged.segment === last) wrong.push(`6 ${key} stands and is not in the chain`)
  return wrong
}

/** Compares the index with the chain. */
export async function compareIndex(
  stores: ChainStores,
  laws: LogLaws,
  archive: ChainArchive,
  truthOf: TruthOf,
): Promise<string[]> {
  const wrong: string[] = []
  const inChain = new Map(archive.chain().map((block) => [block.hash, block]))
  const followed = new Set(laws.segments().flatMap(({ chain }) => chain))
  const truth = movementsOf([...inChain.values()].filter(({ hash }) => followed.has(hash)))
  /** After a gap it is unknown whether what was confirmed before it still is. */
  const hidden = new Set(
    laws.standing().flatMap(({ txId, segment }) => (segment < laws.segments().length - 1 ? [txId] : [])),
  )
  const byAddress = Map.groupBy(truth.values(), ({ address }) => address)
  for (const { address } of laws.standing()) if (!byAddress.has(address)) byAddress.set(address, [])
  const compared = new Set<string>()
  for (const [address, expectedRows] of byAddress) {
    const rows = await historyOf(stores, address)
    const confirmed = new Map(
      rows.filter(({ status }) => status === 'confirmed').map((row) => [row.txId, row]),
    )
    wrong.push(...compareOrder(rows, truth, address))
    if (new Set(rows.map(({ txId }) => txId)).size !== rows.length)
      wrong.push(`7 a transaction of ${address} has two rows`)
    for (const expected of expectedRows) {
      const { txId } = expected
      const row = confirmed.get(txId)
      confirmed.delete(txId)
      if (row === undefined) {
        const found = rows.find((each) => each.txId === txId)
        wrong.push(`7 ${txId} of ${address} is ${found?.status ?? 'missing'}, the node has it accepted`)
        continue
      }
      const transaction = truthOf(txId)
      if (transaction === undefined) continue
      wrong.push(...compareAddressRow(row, transaction, address))
      if (compared.has(txId)) continue
      compared.add(txId)
      wrong.push(...compareTransactionRow(await stores.chain.transaction(txId), transaction, expected))
    }
    for (const txId of confirmed.keys())
      if (!hidden.has(txId)) wrong.push(`7 ${txId} of ${address} is confirmed, the node has it not`)
  }
  return wrong
}

/** Pending transactions first, then by block time, then by the order of acceptance. */
function compareOrder(rows: readonly AddressRow[], truth: Map<string, Truth>, address: string): string[] {
  const firstOther = rows.findIndex(({ status }) => status !== 'pending')
  if (firstOther >= 0 && rows.slice(firstOther).some(({ status }) => status === 'pending'))
    return [`7 a pending transaction of ${address} comes after one that is not`]
  const known = rows.flatMap(({ txId, status }) => {
    const found = status === 'confirmed' ? truth.get(`${txId} ${address}`) : undefined
    return found === undefined ? [] : [found]
  })
  const sorted = known.toSorted((a, b) => b.blockTimeMs - a.blockTimeMs || b.order - a.order)
  const wrongAt = known.findIndex((one, at) => one !== sorted[at])
  return wrongAt < 0 ? [] : [`7 ${known[wrongAt]?.txId} is at the wrong place in the history of ${address}`]
}

/** At any time, the confirmed rows of an address are those that the log has recorded and not retracted. */
export async function compareAddress(
  stores: ChainStores,
  standing: readonly Confirmed[],
  address: string,
): Promise<string[]> {
  const logged = standing.filter((each) => each.address === address)
  const rows = (await historyOf(stores, address)).filter(({ status }) => status === 'confirmed')
  const wrong: string[] = []
  const byId = new Map(rows.map((row) => [row.txId, row]))
  for (const { txId, received, sent } of logged) {
    const row = byId.get(txId)
    byId.delete(txId)
    if (row === undefined) wrong.push(`7 ${txId} of ${address} was logged as confirmed, the index has it not`)
    else if (row.received !== received || row.sent !== sent)
      wrong.push(`7 ${txId} of ${address}: the log and the index differ`)
  }
  for (const txId of byId.keys()) wrong.push(`7 ${txId} of ${address} is confirmed and was not logged`)
  return wrong
}

/** Resuming from any number gives the same events, whatever the page size and the filter. */
export async function compareResumed(
  stores: ChainStores,
  events: readonly StoredEvent[],
  random: Random,
): Promise<string[]> {
  const newest = events.at(-1)?.seq ?? 0
  const from = random.int(0, newest)
  const limit = random.pick([1, 7, 100, 1_000])
  const filters = drawFilters(events, random)
  const expected = events.filter(
    (event) =>
      event.seq > from && (filters === undefined || filters.some((filter) => matches(event, filter))),
  )
  let at = from
  let index = 0
  // With pages of one event, reading a part of the log is enough.
  for (let page = 0; page < 50; page++) {
    const found = await stores.events.after({
      ...{ afterSeq: at, untilSeq: newest, limit },
      ...(filters === undefined ? {} : { filters }),
      ...(random.chance(0.3) ? { maxBytes: random.int(1, 5_000) } : {}),
    })
    for (const event of found.events) {
      const wanted = expected[index++]
      if (event.seq !== wanted?.seq || event.text !== wanted.text)
        return [`6 reading on from ${from} gives ${event.seq} where ${wanted?.seq ?? 'nothing'} follows`]
    }
    at = found.upToSeq
    if (found.more) continue
    return index === expected.length ? [] : [`6 reading on from ${from} leaves out ${expected[index]?.seq}`]
  }
  return []
}

function drawFilters(events: readonly StoredEvent[], random: Random): EventFilter[] | undefined {
  if (events.length === 0 || random.chance(0.4)) return undefined
  const { kind } = random.pick(events)
  const other = random.pick(events)
  if (other.addresses.length === 0 || random.chance(0.5)) return [{ kinds: [kind] }]
  return [{ kinds: [other.kind], addresses: [random.pick(other.addresses)] }]
}

const matches = (event: StoredEvent, { kinds, addresses }: EventFilter): boolean =>
  kinds.includes(event.kind) &&
  (addresses === undefined || addresses.some((address) => event.addresses.includes(address)))

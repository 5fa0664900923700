/** Compares an index with what the simulated node knows for certain. */
import assert from 'node:assert/strict'
import { decodeAddress, scriptOfAddress } from '../../sandbox/node/consensus/address.ts'
import type { RunningSandboxChain, RunningSandboxNode } from '../../sandbox/node/run.ts'
import type { AddressRow, ChainStores, HistoryPlace } from '../../src/store/chain.ts'
import type { StoredEvent } from '../../src/store/events.ts'

interface UtxosData {
  address: string
  tx_id: string
  removed: unknown[]
  retracted: boolean
  retracts: string | null
}

const dataOf = <T>(event: StoredEvent): T => (JSON.parse(event.text) as { data: T }).data

export async function historyOf(database: ChainStores, address: string, limit = 100): Promise<AddressRow[]> {
  const rows: AddressRow[] = []
  for (let before: HistoryPlace | undefined; ; ) {
    const page = await database.chain.addressPage({ address, limit, ...(before ? { before } : {}) })
    rows.push(...page.rows)
    before = page.rows.at(-1)?.place
    if (!page.hasMore) return rows
  }
}

/** The node's own balance includes the next block; this is the balance that the chain has confirmed. */
export function chainBalance(chain: RunningSandboxChain, node: RunningSandboxNode, address: string): bigint {
  const decoded = decodeAddress(address)
  if (!decoded.ok) throw new RangeError(address)
  const script = scriptOfAddress(decoded)
  let { balance } = node.truth.address(address)
  for (const { tx, spent } of chain.chain.ledger.virtual.acceptance.transactions) {
    for (const output of tx.outputs) if (output.scriptPublicKey === script) balance -= output.value
    for (const entry of spent) if (entry.scriptPublicKey === script) balance += entry.amount
  }
  return balance
}

export interface Acceptance {
  acceptingBlockHash: string
  blockHash: string
}

/** The block that accepts each transaction of the kept chain. */
export function acceptances(node: RunningSandboxNode): Map<string, Acceptance> {
  const found = new Map<string, Acceptance>()
  for (const { hash, accepted } of node.truth.chain()) {
    for (const { transactionId, blockHash } of accepted) {
      found.set(transactionId, { acceptingBlockHash: hash, blockHash })
    }
  }
  return found
}

/** History, status and balance of an address after a block; `balance` is what it had there and has now. */
export async function assertAddress(
  database: ChainStores,
  node: RunningSandboxNode,
  address: string,
  start: { blueScore: number; accepted: ReadonlyMap<string, Acceptance> },
  balance?: { before: bigint; after: bigint },
): Promise<number> {
  const truth = node.truth.address(address)
  const expected = truth.transactions
    .filter((tx) => tx.acceptingBlueScore > BigInt(start.blueScore))
    .map(({ transactionId, received, sent }) => ({ txId: transactionId, received, sent }))
  const rows = await historyOf(database, address)
  const confirmed = rows.filter((row) => row.status === 'confirmed')
  const byId = <T extends { txId: string }>(list: T[]) => list.sort((a, b) => (a.txId < b.txId ? -1 : 1))
  assert.deepEqual(
    byId(confirmed.map(({ txId, received, sent }) => ({ txId, received, sent }))),
    byId(expected),
    `history of ${address}`,
  )
  assert.equal(new Set(rows.map((row) => row.txId)).size, rows.length, 'one row for each transaction')
  for (const row of rows) {
    const accepted = start.accepted.get(row.txId)
    const indexed = await database.chain.transaction(row.txId)
    assert.equal(row.status === 'confirmed', accepted !== undefined, `status of ${row.txId}`)
    assert.equal(indexed?.acceptingBlockHash ?? undefined, accepted?.acceptingBlockHash)
    assert.equal(indexed?.blockHash ?? undefined, accepted?.blockHash)
    const net = row.received - row.sent
    assert.equal(row.amount, net < 0n ? -net : net)
  }
  if (balance !== undefined) {
    const moved = confirmed.reduce((sum, row) => sum + row.received - row.sent, 0n)
    assert.equal(balance.before + moved, balance.after, `balance of ${address}`)
  }
  return rows.length
}

/** The truth about the chain, from a simulated node that knows it or from a walk over a real one. */
export interface LogTruth {
  readonly truth: {
    /** Oldest first. */
    chain(): {
      readonly hash: string
      readonly blueScore: bigint
      readonly mergeSet: readonly string[]
      readonly accepted: readonly { readonly transactionId: string }[]
    }[]
    address(address: string): {
      readonly transactions: readonly {
        readonly transactionId: string
        readonly acceptingBlueScore: bigint
      }[]
    }
  }
  wallets(): readonly { readonly address: string }[]
}

/**
 * Replays the log: what it leaves confirmed at the end must equal the chain for every address, every confirmation that
 * was undone is followed by the retraction that names it, and none is listed twice.
 */
export function assertLog(
  events: readonly StoredEvent[],
  node: LogTruth,
  { mayJump = false }: { /** After a change of servers numbers go on higher. */ mayJump?: boolean } = {},
): { retractions: number; startScore: number } {
  const standing = new Map<string, string>()
  const chain: string[] = []
  const blocks = new Set<string>()
  const reported = new Set<string>()
  /** Transactions that a block showed without a `mempool_entry` before it, and the block. */
  const unreported = new Map<string, string>()
  let retractions = 0
  let isBelow = false
  for (const [index, event] of events.entries()) {
    const before = events[index - 1]?.seq ?? 0
    if (mayJump) assert.ok(event.seq > before, 'numbers in order')
    else assert.equal(event.seq, before + 1, 'numbers without gaps')
    assert.equal((JSON.parse(event.text) as { id: string }).id, event.id)
    if (event.kind === 'mempool_entry') {
      const { tx_id } = dataOf<{ tx_id: string }>(event)
      assert.ok(!reported.has(tx_id), `${tx_id} enters twice`)
      reported.add(tx_id)
    } else if (event.kind === 'block_added') {
      const { hash, transaction_ids } = dataOf<{ hash: string; transaction_ids: string[] }>(event)
      for (const txId of transaction_ids.slice(1)) if (!reported.has(txId)) unreported.set(txId, hash)
      assert.ok(!blocks.has(hash), `block ${hash} is recorded twice`)
      blocks.add(hash)
    } else if (event.kind === 'virtual_chain_changed') {
      const { removed, added } = dataOf<{ removed: string[]; added: string[] }>(event)
      // The log contains nothing from before its beginning.
      for (const hash of removed) {
        isBelow ||= chain.length === 0
        assert.equal(chain.pop() ?? hash, hash, 'the tip leaves first')
      }
      chain.push(...added)
    } else if (event.text.includes('"stage":"accepted"')) {
      const { tx_id } = dataOf<{ tx_id: string }>(event)
      assert.ok(reported.has(tx_id), `${tx_id} is accepted before its mempool_entry`)
    } else if (event.kind === 'utxos_changed') {
      const { address, tx_id, retracted, retracts, removed } = dataOf<UtxosData>(event)
      if (removed.length > 0) assert.ok(reported.has(tx_id), `${tx_id} is confirmed before its mempool_entry`)
      assert.deepEqual(event.addresses, [address])
      const key = `${tx_id} ${address}`
      if (retracted) {
        retractions++
        assert.equal(standing.get(key), retracts, 'a retraction names the standing confirmation')
        standing.delete(key)
      } else {
        assert.ok(!standing.has(key), `${key} is confirmed twice`)
        standing.set(key, event.id)
      }
    }
  }
  const whole = node.truth.chain()
  const truth = whole.slice(-chain.length)
  assert.deepEqual(
    chain,
    truth.map((block) => block.hash),
  )
  const accepted = new Set(truth.flatMap((block) => block.accepted.map((tx) => tx.transactionId)))
  const earlier = new Set(
    whole
      .slice(0, whole.length - chain.length)
      .flatMap((block) => block.accepted.map((tx) => tx.transactionId)),
  )
  for (const [txId, hash] of unreported) {
    // A branch from before the beginning may have undone what was accepted before it.
    if (isBelow) break
    assert.ok(earlier.has(txId), `block ${hash} is recorded before the mempool_entry of ${txId}`)
  }
  const confirmed = new Set([...standing.keys()].map((key) => key.split(' ')[0]))
  assert.deepEqual(
    [...confirmed].filter((txId) => !accepted.has(txId ?? '')),
    [],
    'nothing is confirmed that is not accepted',
  )
  for (const block of truth.slice(3)) {
    for (const hash of block.mergeSet) assert.ok(blocks.has(hash), `block ${hash} was not recorded`)
  }
  const startScore = Number(whole.at(-chain.length - 1)?.blueScore)
  let compared = 0
  for (const { address } of node.wallets()) {
    for (const { transactionId, acceptingBlueScore } of node.truth.address(address).transactions) {
      if (!(Number(acceptingBlueScore) > startScore) || !accepted.has(transactionId)) continue
      assert.ok(
        standing.has(`${transactionId} ${address}`),
        `${transactionId} was not recorded for ${address}`,
      )
      compared++
    }
  }
  assert.ok(compared > 0 || truth.length < 10, 'some confirmations are compared')
  return { retractions, startScore }
}

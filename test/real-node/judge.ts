/** Compares what the service says about addresses and transactions with a walk over the node. */
import assert from 'node:assert/strict'
import { parseExact } from '../../sandbox/node/rpc/json.ts'
import type { StoredEvent } from '../../src/store/events.ts'
import type { RealNode } from './real-node.ts'
import type { RealService } from './real-service.ts'
import type { Acceptance, Walk } from './walk.ts'
import { holdersOf } from './walk-tokens.ts'

interface HistoryItem {
  readonly tx_id: string
  readonly direction: string
  readonly amount_sompi: number | bigint
  readonly status: string
  readonly block_time: string | null
}

async function pages<T>(service: RealService, path: string): Promise<T[]> {
  const items: T[] = []
  for (let cursor = ''; ; ) {
    const answer = await service.get(`${path}?limit=200${cursor}`)
    assert.equal(answer.status, 200, answer.text)
    const page = parseExact(answer.text) as { items: T[]; next_cursor: string | null }
    items.push(...page.items)
    if (page.next_cursor === null) return items
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`
  }
}

/** Compares what was accepted above this blue score; returns how many rows were compared. */
export async function judgeAddress(
  service: RealService,
  { node, walk, address, startScore }: { node: RealNode; walk: Walk; address: string; startScore: number },
): Promise<number> {
  const path = `/v1/addresses/${address}`
  const rows = await pages<HistoryItem>(service, `${path}/transactions`)
  assert.equal(new Set(rows.map(({ tx_id }) => tx_id)).size, rows.length, 'one row for each transaction')
  const expected = new Map(
    walk
      .of(address)
      .flatMap((one) => (Number(one.acceptingBlueScore) > startScore ? [[one.transactionId, one]] : [])),
  )
  const confirmed = rows.filter(({ status }) => status === 'confirmed')
  assert.deepEqual(
    confirmed.map(({ tx_id }) => tx_id).sort(),
    [...expected.keys()].sort(),
    `history of ${address}`,
  )
  let newer: { timeMs: number; place: number } | undefined
  for (const row of confirmed) {
    const truth = expected.get(row.tx_id) as Acceptance
    const net = truth.received - truth.sent
    assert.equal(BigInt(row.amount_sompi), net < 0n ? -net : net, `amount of ${row.tx_id}`)
    assert.equal(row.direction === 'receive', net > 0n, `direction of ${row.tx_id}`)
    const timeMs = Date.parse(row.block_time ?? '')
    assert.ok([...truth.carriers.values()].includes(timeMs), `block time of ${row.tx_id}`)
    const inOrder =
      newer === undefined || timeMs < newer.timeMs || (timeMs === newer.timeMs && truth.place < newer.place)
    assert.ok(inOrder, `${row.tx_id} is out of order`)
    newer = { timeMs, place: truth.place }
  }
  const own = await node.rpc.call('getUtxosByAddresses', { addresses: [address] })
  const entries = own.entries as {
    outpoint: { transactionId: string; index: number }
    utxoEntry: { amount: number | bigint }
  }[]
  const utxos = await pages<{ tx_id: string; index: number; amount_sompi: number | bigint }>(
    service,
    `${path}/utxos`,
  )
  assert.deepEqual(
    utxos.map(({ tx_id, index, amount_sompi }) => `${tx_id}:${index} ${amount_sompi}`),
    entries
      .map(({ outpoint, utxoEntry }) => `${outpoint.transactionId}:${outpoint.index} ${utxoEntry.amount}`)
      .sort(),
    `unspent outputs of ${address}`,
  )
  const balance = parseExact((await service.get(`${path}/balance`)).text) as {
    confirmed_sompi: number | bigint
  }
  assert.equal(
    BigInt(balance.confirmed_sompi),
    entries.reduce((sum, { utxoEntry }) => sum + BigInt(utxoEntry.amount), 0n),
    `balance of ${address}`,
  )
  const { items } = (await service.get(`${path}/activity?limit=200`)).json as {
    items: { kind: string; tx_id: string }[]
  }
  const held = new Set(entries.map(({ outpoint }) => outpoint.transactionId))
  for (const { kind, tx_id } of items)
    if (kind === 'utxo') assert.ok(held.has(tx_id), `activity of ${address}`)
  return rows.length
}

export async function judgeTransaction(service: RealService, walk: Walk, txId: string): Promise<void> {
  const truth = walk.accepted.get(txId)
  assert.ok(truth)
  const answer = await service.get(`/v1/transactions/${txId}`)
  assert.equal(answer.status, 200, `${txId}: ${answer.text}`)
  const shown = parseExact(answer.text) as Record<string, string | number | bigint | null>
  assert.equal(shown.status, 'confirmed')
  assert.equal(shown.accepting_block_hash, truth.acceptingBlockHash)
  assert.equal(Date.parse(String(shown.block_time)), truth.carriers.get(String(shown.block_hash)))
  // A coinbase spends nothing.
  const fee = truth.fee < 0n ? null : truth.fee
  assert.equal(shown.fee_sompi === null ? null : BigInt(shown.fee_sompi ?? -1), fee, `fee of ${txId}`)
}

/** Returns how many covenants were compared. All of them were founded after the index started. */
export async function judgeCovenants(service: RealService, walk: Walk): Promise<number> {
  for (const [covenantId, { steps, unspent }] of walk.covenants) {
    const path = `/v1/covenants/${covenantId}`
    const lineage = await pages<{ tx_id: string; kind: string }>(service, path)
    assert.deepEqual(
      lineage.map(({ tx_id, kind }) => ({ txId: tx_id, kind })).reverse(),
      steps,
      `lineage of ${covenantId}`,
    )
    const utxos = await pages<{ tx_id: string; index: number }>(service, `${path}/utxos`)
    assert.deepEqual(
      utxos.map(({ tx_id, index }) => `${tx_id}:${index}`),
      [...unspent].sort(),
      `unspent outputs of ${covenantId}`,
    )
  }
  return walk.covenants.size
}

interface ShownToken {
  readonly token_id: string
  readonly form: string
  readonly history: string
  readonly amount: string | null
  readonly holders: number | null
  readonly outputs: number | null
}

/** Returns how many holders of KRC-20 tokens were compared. */
export async function judgeTokens(service: RealService, walk: Walk): Promise<number> {
  const shown = await pages<ShownToken>(service, '/v1/tokens')
  const krc20 = shown.filter(({ form }) => form === 'krc20')
  assert.deepEqual(krc20.map(({ token_id }) => token_id).sort(), [...walk.tokens.keys()].sort())
  let compared = 0
  for (const { token_id, history, amount, holders } of krc20) {
    const token = walk.tokens.get(token_id)
    assert.ok(token)
    const held = token.isKnown ? holdersOf(token) : new Map<string, bigint>()
    assert.deepEqual(
      { history, amount, holders },
      token.isKnown
        ? {
            history: token.isIssued ? 'complete' : 'since_deploy',
            amount: String(token.minted - token.burned),
            holders: held.size,
          }
        : { history: 'unknown', amount: null, holders: null },
      token_id,
    )
    const listed = await pages<{ holder: string; amount: string }>(service, `/v1/tokens/${token_id}/holders`)
    assert.deepEqual(
      new Map(listed.map(({ holder, amount: own }) => [holder, BigInt(own)])),
      held,
      `holders of ${token_id}`,
    )
    assert.equal(listed.length, held.size, `holders of ${token_id}, each once`)
    compared += listed.length
  }
  for (const { token_id, outputs } of shown.filter(({ form }) => form !== 'krc20')) {
    const unspent = walk.covenants.get(token_id)?.unspent.size
    assert.ok(unspent !== undefined && (outputs ?? 0) <= unspent, `outputs of token ${token_id}`)
  }
  return compared
}

/** The events that were not retracted add up to who holds what. Returns how many were retracted. */
export function judgeTokenEvents(log: readonly StoredEvent[], walk: Walk): number {
  const held = new Map<string, Map<string, bigint>>()
  let retracted = 0
  for (const { kind, text } of log) {
    if (kind !== 'token_transfer') continue
    const { data } = JSON.parse(text) as { data: TokenTransfer }
    if (data.retracted) retracted += 1
    if (data.form !== 'krc20' || data.valid !== true) continue
    const of = held.get(data.token_id) ?? new Map<string, bigint>()
    held.set(data.token_id, of)
    const move = (cells: TokenTransfer['from'], isGain: boolean) => {
      for (const { holder, amount } of cells)
        of.set(holder, (of.get(holder) ?? 0n) + (isGain === data.retracted ? -1n : 1n) * BigInt(amount))
    }
    move(data.from, false)
    move(data.to, true)
  }
  for (const [tick, token] of walk.tokens) {
    if (!token.isKnown) continue
    const left = [...(held.get(tick) ?? [])].filter(([, amount]) => amount !== 0n)
    assert.deepEqual(new Map(left), holdersOf(token), `events of ${tick}`)
  }
  return retracted
}

interface TokenTransfer {
  readonly token_id: string
  readonly form: string
  readonly valid: true | null
  readonly retracted: boolean
  readonly from: readonly { readonly holder: string; readonly amount: string }[]
  readonly to: readonly { readonly holder: string; readonly amount: string }[]
}

/** Fractions are read as they are written. */
type Fraction = number | { readonly value: number }

interface Bucket {
  readonly feerate: Fraction
  readonly estimatedSeconds: Fraction
}

const numberOf = (fraction: Fraction) => (typeof fraction === 'number' ? fraction : fraction.value)

/** Fee rates equal those of a node, whichever was asked; no blocks may arrive meanwhile. */
export async function judgeFees(service: RealService, nodes: readonly RealNode[]): Promise<string> {
  const ofNodes = () =>
    Promise.all(
      nodes.map(async ({ rpc }) => {
        const { estimate } = await rpc.call('getFeeEstimate')
        const { priorityBucket, normalBuckets, lowBuckets } = estimate as {
          priorityBucket: Bucket
          normalBuckets: Bucket[]
          lowBuckets: Bucket[]
        }
        const shown = ({ feerate, estimatedSeconds }: Bucket) => [
          numberOf(feerate),
          numberOf(estimatedSeconds),
        ]
        return JSON.stringify([shown(priorityBucket), normalBuckets.map(shown), lowBuckets.map(shown)])
      }),
    )
  const before = await ofNodes()
  const answer = await service.get('/v1/fees/estimate')
  assert.equal(answer.status, 200, answer.text)
  const after = await ofNodes()
  type Shown = { feerate: number; estimated_seconds: number }
  const { priority, normal, low } = answer.json as unknown as {
    priority: Shown
    normal: Shown[]
    low: Shown[]
  }
  const shown = ({ feerate, estimated_seconds }: Shown) => [feerate, estimated_seconds]
  const said = JSON.stringify([shown(priority), normal.map(shown), low.map(shown)])
  assert.ok([...before, ...after].includes(said), `fees: ${said}, the nodes say ${after.join(' ')}`)
  return said
}

/** Balances and unspent outputs over a real socket, against the ledger of the simulated chain. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  type RunningSandboxChain,
  type RunningSandboxNode,
  startSandboxChain,
  startSandboxNode,
} from '../../sandbox/node/run.ts'
import { DEFAULT_MIX } from '../../sandbox/node/traffic/traffic.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { chainBalance } from '../fakes/chain-truth.ts'
import { type Answer, ask, assertError } from '../fakes/client.ts'
import { startTestService, type TestService } from '../fakes/service.ts'
import { until } from '../until.ts'

let chain: RunningSandboxChain
let node: RunningSandboxNode
let service: TestService
let key: string
let users: string[]

before(async () => {
  chain = await startSandboxChain({
    seed: 5,
    transactionsPerSecond: 2,
    reorgsPerMinute: 0,
    coinbaseMaturity: 50,
    mix: { ...DEFAULT_MIX, covenant_genesis: 20 },
  })
  node = await startSandboxNode({ chain })
  service = await startTestService({ env: { TAPELINE_NODES: node.url, TAPELINE_NETWORK: 'testnet-10' } })
  key = await service.key({ environment: 'live' })
  users = node.wallets().flatMap(({ name, address }) => (name === 'faucet' ? [] : address))
  await until(
    'some history',
    async () => ((await get(`/v1/addresses/${users[0]}/transactions`)).json.items as unknown[]).length >= 3,
  )
})

after(async () => {
  await service.stop()
  await node.close()
  await chain.close()
})

const get = (path: string, asked: Parameters<typeof ask>[1] = {}): Promise<Answer> =>
  ask(`${service.url}${path}`, { key, ...asked })
const credits = (answer: Answer) => Number(answer.headers.get('x-credits-charged'))

/** What the chain has confirmed for the address in blocks up to that time. */
function balanceAt(address: string, timeMs: number): bigint {
  const { ledger } = chain.chain
  let balance = chainBalance(chain, node, address)
  for (const { blockHash, received, sent } of node.truth.address(address).transactions) {
    const blockTimeMs = ledger.record(blockHash)?.block.header.timestamp ?? 0
    if (blockTimeMs > timeMs) balance -= received - sent
  }
  return balance
}

test('a past balance is the one of the ledger, at any time that is covered', async () => {
  await systemClock.sleep(5_000)
  let compared = 0
  for (const address of users.slice(0, 4)) {
    const { coverage_from } = (await get(`/v1/addresses/${address}/transactions?limit=1`)).json as {
      coverage_from: string
    }
    for (let i = 0; i < 3; i++) {
      const earliestMs = Date.parse(coverage_from) + 500
      const at = Math.floor(earliestMs + (Date.now() - 3_000 - earliestMs) * (i / 3))
      const answer = await get(`/v1/addresses/${address}/balance?at=${at}`)
      if (answer.status === 503) {
        assert.match(String(answer.json.reason), /address_busy|index_behind|nodes_behind/)
        continue
      }
      assert.equal(answer.status, 200, answer.text)
      assert.match(answer.text, new RegExp(`"confirmed_sompi":${balanceAt(address, at)},"pending":null`))
      assert.equal(credits(answer), 20)
      compared++
    }
  }
  assert.ok(compared >= 4, `${compared} balances were compared`)
})

test('the balance now is the one of the node, with what its mempool would change', async () => {
  const [address = ''] = users
  let isEqual = false
  for (let i = 0; i < 20 && !isEqual; i++) {
    const { balance } = node.truth.address(address)
    const answer = await get(`/v1/addresses/${address}/balance`)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(credits(answer), 20)
    const pending = answer.json.pending as Record<string, number>
    assert.deepEqual(Object.keys(pending), ['incoming_sompi', 'outgoing_sompi', 'transactions'])
    assert.equal(answer.json.at, null)
    isEqual = answer.text.includes(`"confirmed_sompi":${balance},`)
  }
  assert.ok(isEqual)
})

test('a walk over the unspent outputs gives each once, by outpoint', async () => {
  const address = users[1] ?? ''
  const nameOf = (utxo: { transactionId: string; index: number }) => `${utxo.transactionId}:${utxo.index}`
  const there = node.truth.address(address).utxos.map(nameOf)
  const walked: string[] = []
  for (let cursor = ''; ; ) {
    const answer = await get(`/v1/addresses/${address}/utxos?limit=3${cursor}`)
    assert.equal(answer.status, 200, answer.text)
    const items = answer.json.items as { tx_id: string; index: number; amount_sompi: number }[]
    assert.equal(credits(answer), 15 + items.length)
    walked.push(...items.map(({ tx_id, index }) => `${tx_id}:${index}`))
    if (answer.json.next_cursor === null) break
    assert.equal(items.length, 3)
    cursor = `&cursor=${answer.json.next_cursor}`
  }
  const still = new Set(node.truth.address(address).utxos.map(nameOf))
  const stayed = there.filter((name) => still.has(name))
  assert.deepEqual(
    stayed.filter((name) => !walked.includes(name)),
    [],
  )
  assert.deepEqual(walked, walked.toSorted())
  assert.equal(new Set(walked).size, walked.length)
})

/** Covenants that were founded since the index began, by the ledger. */
function founded(sinceMs: number): { id: string; txId: string }[] {
  const { ledger } = chain.chain
  return ledger.chain.flatMap((hash) => {
    const record = ledger.record(hash)
    if (record === undefined || record.block.header.timestamp < sinceMs) return []
    return (record.acceptance?.transactions ?? []).flatMap(({ tx, spent }) =>
      tx.outputs.flatMap(({ covenant }) =>
        covenant === null || spent.some(({ covenantId }) => covenantId === covenant.covenantId)
          ? []
          : [{ id: covenant.covenantId, txId: tx.id }],
      ),
    )
  })
}

test('a covenant is served with its lineage, its unspent outputs and to the addresses that hold it', async () => {
  const { coverage_from } = (await get(`/v1/addresses/${users[0]}/transactions?limit=1`)).json as {
    coverage_from: string
  }
  let one: { id: string; txId: string } | undefined
  await until(
    'a covenant',
    async () => {
      one = founded(Date.parse(coverage_from) + 1_000).at(0)
      return one !== undefined && (await get(`/v1/covenants/${one.id}`)).status === 200
    },
    120_000,
  )
  const { id = '', txId = '' } = one ?? {}
  const answer = await get(`/v1/covenants/${id.toUpperCase()}?limit=200`)
  const steps = answer.json.items as { tx_id: string; kind: string }[]
  assert.equal(credits(answer), 10 + steps.length)
  assert.deepEqual([answer.json.covenant_id, answer.json.genesis], [id, txId])
  assert.deepEqual([steps.at(-1)?.tx_id, steps.at(-1)?.kind], [txId, 'genesis'])
  const unspent = await get(`/v1/covenants/${id}/utxos`)
  const [utxo] = unspent.json.items as { tx_id: string; index: number; address: string }[]
  if (utxo !== undefined) {
    const held = (await get(`/v1/addresses/${utxo.address}/covenants`)).json.items as { tx_id: string }[]
    const isSpent = !(await get(`/v1/covenants/${id}/utxos`)).text.includes(utxo.tx_id)
    assert.ok(isSpent || held.some(({ tx_id }) => tx_id === utxo.tx_id))
  }
  for (const tail of ['', '/utxos']) {
    assertError(await get(`/v1/covenants/${'ab'.repeat(32)}${tail}`), 404, 'not_found')
    assert.equal(
      assertError(await get(`/v1/covenants/xyz${tail}`), 422, 'invalid_param').param,
      'covenant_id',
    )
    assertError(await get(`/v1/covenants/${id}${tail}?cursor=abc`), 422, 'invalid_param')
  }
})

test('what cannot be answered is refused with the reason and costs nothing', async () => {
  const [address = ''] = users
  const other = users[1] ?? ''
  for (const [query, status, code, reason] of [
    ['at=yesterday', 422, 'invalid_param', undefined],
    ['at=2020-01-01', 400, 'invalid_time_range', 'before_coverage'],
    [`at=${Date.now() + 600_000}`, 400, 'invalid_time_range', 'future'],
    ['limit=5', 422, 'invalid_param', undefined],
  ] as const) {
    const body = assertError(await get(`/v1/addresses/${address}/balance?${query}`), status, code)
    assert.equal(body.reason, reason, query)
  }
  const page = await get(`/v1/addresses/${address}/utxos?limit=1`)
  const foreign = await get(`/v1/addresses/${other}/utxos?cursor=${page.json.next_cursor ?? 'abc'}`)
  assert.equal(assertError(foreign, 422, 'invalid_param').param, 'cursor')
  for (const tail of ['balance', 'utxos', 'covenants']) {
    const path = `/v1/addresses/${address}/${tail}`
    assertError(await ask(`${service.url}${path}`), 401, 'unauthorized')
    const free = await service.key({ environment: 'live', plan: 'free' })
    assert.equal(assertError(await get(path, { key: free }), 403, 'tier_restricted').required_tier, 'pro')
    assertError(await get(`/v1/addresses/kaspatest:qqqq/${tail}`), 422, 'invalid_param')
    const preview = await get(`${path}?dry_run=true`)
    assert.equal(preview.json.dry_run, true, preview.text)
    assert.equal(credits(preview), 0)
  }
})

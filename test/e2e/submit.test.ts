/** Submission of transactions that the real Rust client built and signed, over real sockets. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ChainService, exactText, startChainService } from '../fakes/chain-service.ts'
import { type Answer, assertError } from '../fakes/client.ts'
import { ADDRESS, type Coin, funds, payment } from '../fakes/real-client.ts'

let chain: ChainService
let key: string
let coins: Coin[]
before(async () => {
  chain = await startChainService({
    chain: { transactionsPerSecond: 2, dwellBlocks: 20, reorgsPerMinute: 0, fund: funds(16) },
  })
  key = await chain.key()
  await chain.healthy(2)
  const { reply } = await chain.call(key, 'getUtxosByAddresses', { addresses: [ADDRESS] })
  coins = (reply.result as unknown as { entries: Coin[] }).entries
  assert.equal(coins.length, 16)
})
after(() => chain.stop())

const charged = (answer: Answer) => Number(answer.headers.get('x-credits-charged'))
function coin(): Coin {
  const next = coins.pop()
  assert.ok(next)
  return next
}
const send = (transaction: object, more: object = {}, headers: Record<string, string> = {}, by = key) =>
  chain.submit(by, exactText({ transaction, ...more }), headers)

async function accepted(id: string): Promise<void> {
  const endsAt = performance.now() + 60_000
  while (chain.nodes[0]?.truth.transaction(id) === undefined) {
    assert.ok(performance.now() < endsAt, `${id} was not accepted`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

test('a transaction of the real client is taken, seen and accepted; 10 credits and 5 per attempt', async () => {
  const { id, json } = payment(coin())
  const answer = await send(json, { wait_for_mempool: true })
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(answer.json, {
    tx_id: id,
    submitted: true,
    mempool_seen: true,
    already_accepted: false,
    attempts: 2,
    credits_used: 20,
  })
  assert.equal(charged(answer), 20)
  await accepted(id)
  const again = await send(json)
  assert.equal(again.status, 200, 'already accepted is success')
  assert.deepEqual(again.json, {
    tx_id: id,
    submitted: true,
    mempool_seen: false,
    already_accepted: true,
    attempts: 1,
    credits_used: 15,
  })
})

test('the same through /rpc; sending it again there is the refusal of the node', async () => {
  const { id, json } = payment(coin())
  const first = await chain.call(key, 'submitTransaction', { transaction: json })
  assert.deepEqual(first.reply.result, { transactionId: id }, first.answer.text)
  assert.equal(charged(first.answer), 5)
  const second = await chain.call(key, 'submitTransaction', { transaction: json })
  assert.equal(second.reply.error?.code, -32000)
  assert.match(String(second.reply.error?.data?.reason), /^already_(in_mempool|accepted)$/)
  assert.equal(charged(second.answer), 0)
  await accepted(id)
})

test('u64 fields may be decimal text; without a wait nothing is looked for', async () => {
  const { id, json } = payment(coin())
  const texts = JSON.stringify({ transaction: json }, (_name, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  )
  const answer = await chain.submit(key, texts)
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(answer.json, {
    tx_id: id,
    submitted: true,
    mempool_seen: false,
    already_accepted: false,
    attempts: 1,
    credits_used: 15,
  })
})

test('a sequence of 18446744073709551615 reaches the node unchanged, as number and as text', async () => {
  // The signature no longer matches: that the node checks it under the local id proves what it read.
  for (const sequence of [18446744073709551615n, '18446744073709551615']) {
    const { json } = payment(coin())
    const [input] = json.inputs as object[]
    const answer = await send({ ...json, inputs: [{ ...input, sequence }] })
    const body = assertError(answer, 422, 'transaction_rejected')
    assert.ok(String(body.message).includes(String(body.tx_id)), 'the node names the same id')
  }
})

test('a refusal has its reason and its numbers, and costs nothing', async () => {
  const cheap = await send(payment(coin(), 1_000n).json)
  const fee = assertError(cheap, 422, 'transaction_rejected')
  assert.equal(fee.reason, 'fee_too_low')
  assert.equal(fee.fee_sompi, 1_000)
  assert.ok(Number(fee.required_fee_sompi) > 100_000)
  assert.equal(charged(cheap), 0)

  await chain.nodes[0]?.setDwell(1_000)
  const spent = coin()
  const first = payment(spent, 250_000n)
  assert.equal((await send(first.json)).status, 200)
  const conflict = assertError(await send(payment(spent, 260_000n).json), 422, 'transaction_rejected')
  assert.equal(conflict.reason, 'double_spend')
  assert.equal(conflict.other_tx_id, first.id)

  const lower = await send(payment(spent, 240_000n).json, { replace_by_fee: true })
  assert.equal(assertError(lower, 422, 'transaction_rejected').reason, 'replacement_fee_too_low')
  const higher = payment(spent, 400_000n)
  const replaced = await send(higher.json, { replace_by_fee: true, wait_for_mempool: true })
  assert.equal(replaced.json.tx_id, higher.id, replaced.text)
  assert.equal(replaced.json.mempool_seen, true)
  const nothing = await send(payment(coin(), 300_000n).json, { replace_by_fee: true })
  assert.equal(assertError(nothing, 422, 'transaction_rejected').reason, 'replacement_without_conflict')
  await chain.nodes[0]?.setDwell(20)

  const missing = { ...spent, outpoint: { transactionId: 'ab'.repeat(32), index: 0 } }
  const orphan = assertError(await send(payment(missing).json), 422, 'transaction_rejected')
  assert.equal(orphan.reason, 'orphan')
})

test('a replacement is never taken as an orphan: both wishes together are refused, and nothing is sent', async () => {
  const { json } = payment(coin())
  for (const node of chain.nodes) node.log.clear()
  const both = await send(json, { allow_orphan: true, replace_by_fee: true })
  const body = assertError(both, 422, 'invalid_param')
  assert.equal(body.param, 'allow_orphan')
  assert.match(String(body.message), /replace_by_fee/)
  assert.equal(charged(both), 0)
  for (const node of chain.nodes) {
    const { submitTransaction, submitTransactionReplacement } = node.log.counts()
    assert.deepEqual([submitTransaction, submitTransactionReplacement], [undefined, undefined])
  }
  const plain = await send(json, { allow_orphan: true, replace_by_fee: false })
  assert.equal(plain.status, 200, plain.text)
})

test('a transaction that is accepted before it is seen is success', async () => {
  await chain.nodes[0]?.setDwell(0)
  const { id, json } = payment(coin(), 5_000_000n)
  assert.equal((await send(json)).status, 200)
  await accepted(id)
  const first = payment(coin(), 5_000_000n)
  const seen = await send(first.json, { wait_for_mempool: true, wait_timeout_seconds: 5 })
  assert.equal(seen.json.mempool_seen, true, `on the first send: ${seen.text}`)
  await chain.nodes[0]?.setDwell(20)
  const late = await send(json, { wait_for_mempool: true, wait_timeout_seconds: 2 })
  // It is no longer in any mempool, and the test does not wait for that.
  const { mempool_seen: isSeen, already_accepted: isAccepted, attempts } = late.json
  assert.deepEqual([isSeen, isAccepted, attempts], [false, true, 1], late.text)
})

test('a transaction that was accepted so long ago that the nodes forgot it is success, not an orphan', async () => {
  const forgetful = await startChainService({
    chain: { reorgsPerMinute: 0, dwellBlocks: 0, acceptedMemorySeconds: 1, fund: funds(1) },
  })
  try {
    const owner = await forgetful.key()
    await forgetful.healthy(2)
    const { reply } = await forgetful.call(owner, 'getUtxosByAddresses', { addresses: [ADDRESS] })
    const [only] = (reply.result as unknown as { entries: Coin[] }).entries
    assert.ok(only)
    const { id, json } = payment(only, 5_000_000n)
    const body = exactText({ transaction: json })
    assert.equal((await forgetful.submit(owner, body)).status, 200)
    const endsAt = performance.now() + 60_000
    for (let reason: unknown; reason !== 'orphan'; ) {
      assert.ok(performance.now() < endsAt, `the node says ${reason}`)
      await new Promise((resolve) => setTimeout(resolve, 200))
      const { reply } = await forgetful.call(owner, 'submitTransaction', { transaction: json })
      reason = reply.error?.data?.reason
    }
    const again = await forgetful.submit(owner, body)
    assert.equal(again.status, 200, again.text)
    assert.equal(again.json.tx_id, id)
  } finally {
    await forgetful.stop()
  }
})

test('an idempotency key gives the first answer again for nothing, and the node is not asked', async () => {
  const { id, json } = payment(coin())
  const headers = { 'Idempotency-Key': `pay-${id}` }
  const first = await send(json, {}, headers)
  assert.equal(first.status, 200, first.text)
  for (const node of chain.nodes) node.log.clear()
  const again = await send(json, {}, headers)
  assert.equal(again.text, first.text)
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
  assert.equal(charged(again), 0)
  for (const node of chain.nodes) assert.equal(node.log.counts().submitTransaction, undefined)
  assertError(await send(json, { allow_orphan: true }, headers), 422, 'idempotency_conflict')
})

test('a wrong body names every fault; the free plan may not submit; the balance must reach the price', async () => {
  const { json } = payment(coin())
  const wrong = await chain.submit(
    key,
    exactText({
      transaction: { ...json, version: 7, gas: -1, inputs: [{}] },
      wait_timeout_seconds: 31,
      extra: 1,
    }),
  )
  const body = assertError(wrong, 422, 'invalid_param')
  const params = (body.errors as { param: string }[]).map(({ param }) => param)
  for (const param of ['transaction.version', 'transaction.gas', 'wait_timeout_seconds', 'extra']) {
    assert.ok(params.includes(param), `${param} is not among ${params}`)
  }
  const hex = assertError(await send({ ...json, payload: 'abc' }), 422, 'invalid_param')
  assert.match(String(hex.message), /transaction\.payload/)
  const free = await send(json, {}, {}, await chain.key({ plan: 'free' }))
  assert.equal(assertError(free, 403, 'tier_restricted').required_tier, 'pro')
  const poor = await send(json, { wait_for_mempool: true }, {}, await chain.key({ credits: 19 }))
  assertError(poor, 402, 'credits_exhausted')
  const enough = await send(json, {}, {}, await chain.key({ credits: 15 }))
  assert.equal(enough.status, 200, enough.text)
  assert.equal(enough.headers.get('x-credits-remaining'), '0')
})

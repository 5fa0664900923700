/** One delivery in full, and its redelivery. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { type Answer, hang, startReceiver, status } from '../../test/fakes/receiver.ts'
import { startRig } from '../../test/fakes/webhook-rig.ts'
import { until } from '../../test/until.ts'
import { ApiError } from '../core/errors.ts'

async function setUp(t: TestContext, answer: Answer, retryDelaysMs: readonly number[]) {
  const rig = await startRig({ webhooks: { retryDelaysMs } })
  t.after(() => rig.close())
  const owner = await rig.createOwner()
  const receiver = await startReceiver(answer)
  t.after(() => receiver.close())
  const { subscription, secret } = await rig.webhooks.subscriptions.create(owner, {
    url: receiver.url,
    kinds: ['block_added'],
    addresses: [],
    batch: false,
  })
  const { id } = subscription
  const list = () => rig.webhooks.subscriptions.deliveries(owner.accountId, id, { limit: 100 })
  return { rig, owner, receiver, id, list, secret }
}

const taken: Answer = (_received, response) => {
  response.setHeader('X-Request-Id', 'r-1: yes')
  response.end(`thanks ${'x'.repeat(5_000)}`)
}

test('a delivery shows the request as it was sent, headers and body, and how the answer began', async (t) => {
  const { rig, owner, receiver, id, list, secret } = await setUp(t, taken, [])
  await rig.emitBlocks(1)
  await until('settled', async () => (await list())[0]?.state === 'delivered')
  const [row] = await list()
  assert.ok(row)
  const detail = await rig.webhooks.deliveries.find(owner.accountId, id, row.id)
  const { body: sent = '', headers = {} } = receiver.received[0] ?? {}
  assert.equal(detail.request.url, new URL(receiver.url).href)
  assert.deepEqual(detail.request.body, { text: sent, bytes: Buffer.byteLength(sent), truncated: false })
  const shown = new Map(detail.request.headers.map(({ name, value }) => [name.toLowerCase(), value]))
  const onTheWire = Object.entries(headers).filter(([name]) => name !== 'host' && name !== 'connection')
  assert.deepEqual([...shown].sort(), onTheWire.sort())
  for (const name of ['content-type', 'x-svc-signature', 'webhook-id', 'webhook-timestamp']) {
    assert.ok(shown.has(name), name)
  }
  new Webhook(secret).verify(sent, Object.fromEntries(shown))
  assert.ok(!JSON.stringify(detail).includes(secret.slice('whsec_'.length)), 'the secret is not shown')
  const answer = detail.response
  assert.equal(answer?.body?.slice(0, 10), 'thanks xxx')
  assert.equal(answer.body.length, 1_024)
  assert.deepEqual(
    answer.headers.find(({ name }) => name === 'X-Request-Id'),
    { name: 'X-Request-Id', value: 'r-1: yes' },
  )
})

test('before the first attempt nothing is shown as sent; an attempt without an answer shows what was sent', async (t) => {
  const { rig, owner, id, list, receiver } = await setUp(t, hang, [3_600_000])
  await rig.webhooks.subscriptions.patch(owner, id, { active: false })
  await rig.emitBlocks(1)
  const replay = () => rig.webhooks.subscriptions.replay(owner.accountId, id, { afterSeq: 0 })
  await until('planned', async () => (await replay()).events === 1)
  const find = async () => rig.webhooks.deliveries.find(owner.accountId, id, (await list())[0]?.id ?? '')
  assert.deepEqual((await find()).request.headers, [])
  assert.equal((await find()).response, null)
  await rig.webhooks.subscriptions.patch(owner, id, { active: true })
  await until('a try', () => receiver.received.length === 1)
  await receiver.close()
  await until('a failed try', async () => (await list())[0]?.attempts === 1)
  const detail = await find()
  assert.ok(detail.request.headers.some(({ name }) => name === 'webhook-signature'))
  assert.equal(detail.response, null)
  assert.match(detail.lastError ?? '', /connection failed|no answer/)
})

test('a finished delivery is sent again as a new one: same event, same body, charged again', async (t) => {
  const { rig, owner, receiver, id, list } = await setUp(t, status(500), [])
  await rig.emitBlocks(3)
  await until('given up', async () => (await list()).filter(({ state }) => state === 'failed').length === 3)
  receiver.answer = taken
  const first = (await list()).at(-1)
  assert.ok(first)
  const again = await rig.webhooks.deliveries.redeliver(owner.accountId, id, first.id)
  assert.equal(again.eventId, first.eventId)
  assert.notEqual(again.deliveryId, first.id)
  await until('settled', async () => (await list())[0]?.state === 'delivered')
  const rows = await list()
  assert.equal(rows.length, 4, 'one new row, and no other event was sent')
  assert.equal(rows[0]?.id, again.deliveryId)
  assert.equal(rows[0]?.eventId, first.eventId)
  assert.deepEqual([...receiver.accepted], [first.eventId])
  const bodies = receiver.received.filter(({ events }) => events[0]?.id === first.eventId)
  assert.equal(new Set(bodies.map(({ body }) => body)).size, 1)
  assert.equal(await rig.creditsUsed(owner.accountId), 1)
})

test('a delivery that waits for its next attempt is retried at once, as the same delivery', async (t) => {
  const { rig, owner, receiver, id, list } = await setUp(t, status(503), [3_600_000, 3_600_000])
  await rig.emitBlocks(1)
  await until('a failed try', async () => (await list())[0]?.attempts === 1)
  receiver.answer = taken
  const [row] = await list()
  assert.ok(row)
  const again = await rig.webhooks.deliveries.redeliver(owner.accountId, id, row.id)
  assert.equal(again.deliveryId, row.id)
  await until('settled', async () => (await list())[0]?.state === 'delivered')
  assert.equal((await list()).length, 1)
  assert.equal(await rig.creditsUsed(owner.accountId), 1)
})

test("somebody else's delivery, a foreign one and a broken id do not exist", async (t) => {
  const { rig, owner, id, list } = await setUp(t, taken, [])
  await rig.emitBlocks(1)
  await until('settled', async () => (await list())[0]?.state === 'delivered')
  const known = (await list())[0]?.id ?? ''
  const missing = (error: unknown) => error instanceof ApiError && error.status === 404
  const log = rig.webhooks.deliveries
  for (const [account, webhook, delivery] of [
    ['acc_other', id, known],
    [owner.accountId, 'wh_ffffffffffffffffffff', known],
    [owner.accountId, id, known.replace('dlv_', 'dlv_0')],
    [owner.accountId, id, `${known}z`],
    [owner.accountId, id, "dlv_x_' OR 1"],
  ] as const) {
    await assert.rejects(log.find(account, webhook, delivery), missing)
    await assert.rejects(log.redeliver(account, webhook, delivery), missing)
  }
})

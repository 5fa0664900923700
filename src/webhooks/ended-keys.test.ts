/** A webhook lives as long as the key that created it, or the key that took its place. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startReceiver } from '../../test/fakes/receiver.ts'
import { type RigOptions, startRig } from '../../test/fakes/webhook-rig.ts'
import { until } from '../../test/until.ts'
import { VIEWER_KEY } from '../accounts/key-ring.ts'
import type { Credits } from './credits.ts'

async function setUp(t: TestContext, options: RigOptions = {}) {
  const rig = await startRig(options)
  t.after(() => rig.close())
  const receiver = await startReceiver()
  t.after(() => receiver.close())
  const owner = await rig.createOwner()
  const subscribe = async (keyId = owner.keyId) => {
    const asked = { url: receiver.url, kinds: ['block_added'], addresses: [], batch: false }
    return (await rig.webhooks.subscriptions.create({ ...owner, keyId }, asked)).subscription
  }
  const stateOf = async (id: string) => {
    const { records } = await rig.webhooks.subscriptions.list(owner.accountId, { limit: 100 })
    const found = records.find((one) => one.id === id)
    return { active: found?.active, reason: found?.disabledReason }
  }
  const arrives = async () => {
    const before = receiver.accepted.size
    await rig.emitBlocks(1)
    await until('an event', () => receiver.accepted.size > before)
  }
  return { rig, receiver, owner, subscribe, stateOf, arrives }
}

test('a revoked key ends its webhooks, quiet ones too, and nothing is delivered any more', async (t) => {
  const { rig, receiver, owner, subscribe, stateOf, arrives } = await setUp(t)
  const { id } = await subscribe()
  const fromDashboard = await subscribe(VIEWER_KEY)
  await arrives()
  await rig.accounts.revokeKey(owner.keyId)
  await until('switched off', async () => (await stateOf(id)).active === false)
  assert.equal((await stateOf(id)).reason, 'key_revoked')
  assert.equal((await stateOf(fromDashboard.id)).active, true, 'that of the account itself goes on')
  const before = receiver.received.length
  await rig.emitBlocks(5)
  await until('the five for the other one', () => receiver.received.length >= before + 5)
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal(receiver.received.length, before + 5, 'and none for it')
})

test('a delivery that starts after the revocation is not sent, whichever part has noticed it', async (t) => {
  const { rig, receiver, owner, subscribe } = await setUp(t)
  const { id } = await subscribe()
  const before = receiver.received.length
  await rig.accounts.revokeKey(owner.keyId)
  // The store's watch would do this, but may be late on a busy machine; until then the cached key counts.
  rig.webhooks.accountsChanged([owner.accountId])
  await rig.emitBlocks(3)
  await until('ended', async () => {
    const { records } = await rig.webhooks.subscriptions.list(owner.accountId, { limit: 1 })
    const [one] = records
    return one?.id === id && one.disabledReason === 'key_revoked'
  })
  assert.equal(receiver.received.length, before)
})

test('an expired key ends them too', async (t) => {
  const { rig, owner, subscribe, stateOf } = await setUp(t)
  const { record } = await rig.accounts.createKey({
    accountId: owner.accountId,
    environment: 'test',
    name: 'short',
    expiresAtMs: Date.now() + 300,
  })
  const { id } = await subscribe(record.id)
  await new Promise((resolve) => setTimeout(resolve, 350))
  await rig.emitBlocks(1)
  await until('switched off', async () => (await stateOf(id)).reason === 'key_expired')
})

test('a rotation hands webhooks to the new key: they survive the old one, and end with the new one', async (t) => {
  const { rig, owner, subscribe, stateOf, arrives } = await setUp(t)
  const { id } = await subscribe()
  const second = await rig.accounts.rotateKey(owner.keyId, 50)
  const third = await rig.accounts.rotateKey(second.record.id, 0)
  await new Promise((resolve) => setTimeout(resolve, 100))
  await rig.accounts.revokeKey(owner.keyId)
  await arrives()
  assert.deepEqual(await stateOf(id), { active: true, reason: null })
  const usage = async () => {
    await rig.ledger.flush()
    const rows = await rig.accounts.usage(owner.accountId, 0, Date.now())
    return rows.map(({ keyId }) => keyId)
  }
  await until('the charge', async () => (await usage()).length > 0)
  assert.deepEqual(await usage(), [third.record.id], 'and the new one pays')
  await rig.accounts.revokeKey(third.record.id)
  await until('switched off', async () => (await stateOf(id)).reason === 'key_revoked')
})

test('whoever re-activates an ended webhook takes it over', async (t) => {
  const { rig, owner, subscribe, stateOf, arrives } = await setUp(t)
  const { id } = await subscribe()
  await rig.accounts.revokeKey(owner.keyId)
  await until('switched off', async () => (await stateOf(id)).active === false)
  const { record } = await rig.accounts.createKey({
    accountId: owner.accountId,
    environment: 'test',
    name: 'next',
  })
  await rig.webhooks.subscriptions.patch({ ...owner, keyId: record.id }, id, { active: true })
  await arrives()
  assert.deepEqual(await stateOf(id), { active: true, reason: null })
})

test('one that was handed to a good key while the end of the old one was being noted goes on', async (t) => {
  const { rig, owner, subscribe, stateOf, arrives } = await setUp(t)
  const { id } = await subscribe()
  const { record } = await rig.accounts.createKey({
    ...{ accountId: owner.accountId, environment: 'test', name: 'next' },
  })
  const update = rig.jobs.updateSubscription
  let ends = 0
  t.mock.method(rig.jobs, 'updateSubscription', async (...args: Parameters<typeof update>) => {
    // Happens between the check and the write.
    if (args[1].disabledReason === 'key_revoked' && ends++ === 0) await update(id, { keyId: record.id })
    return update(...args)
  })
  await rig.accounts.revokeKey(owner.keyId)
  rig.webhooks.accountsChanged([owner.accountId])
  await until('the end', () => ends > 0)
  await arrives()
  assert.deepEqual(await stateOf(id), { active: true, reason: null })
})

test('one that was handed to a good key while a delivery asked for credits of the old one goes on', async (t) => {
  const asked = Promise.withResolvers<void>()
  const handed = Promise.withResolvers<void>()
  let hasEnded = false
  const credits: Credits = {
    async reserve({ keyId }, count) {
      if (keyId === 'key_good') return { ok: true, count, charge: async () => {}, release: () => {} }
      asked.resolve()
      await handed.promise
      return { ok: false, reason: 'key_revoked' }
    },
    endOf: ({ keyId }) => credits.currentEndOf(keyId),
    currentEndOf: async (keyId) => (hasEnded && keyId !== 'key_good' ? 'key_revoked' : undefined),
    available: async () => 1_000,
    pauseOf: async () => undefined,
    forget: () => {},
  }
  const { rig, receiver, owner, subscribe, stateOf } = await setUp(t, { webhooks: { credits } })
  const { id } = await subscribe()
  await rig.emitBlocks(1)
  await asked.promise
  hasEnded = true
  await rig.webhooks.subscriptions.patch({ ...owner, keyId: 'key_good' }, id, { active: true })
  handed.resolve()
  await until('the event', () => receiver.accepted.size > 0)
  assert.deepEqual(await stateOf(id), { active: true, reason: null })
})

test('also one that its owner had switched off before the key ended', async (t) => {
  const { rig, owner, subscribe, stateOf, arrives } = await setUp(t)
  const { id } = await subscribe()
  await rig.webhooks.subscriptions.patch(owner, id, { active: false })
  await rig.accounts.revokeKey(owner.keyId)
  // The store's watch would do this, but may be late on a busy machine; until then the cached key counts.
  rig.webhooks.accountsChanged([owner.accountId])
  const { record } = await rig.accounts.createKey({
    ...{ accountId: owner.accountId, environment: 'test', name: 'next' },
  })
  await rig.webhooks.subscriptions.patch({ ...owner, keyId: record.id }, id, { active: true })
  await arrives()
  assert.deepEqual(await stateOf(id), { active: true, reason: null })
})

test('keys that another process has just ended: a webhook goes to the good one, and none is enabled for an ended one', async (t) => {
  const { rig, owner, subscribe, stateOf, arrives } = await setUp(t)
  const { id } = await subscribe()
  await rig.webhooks.subscriptions.patch(owner, id, { active: false })
  const next = async (name: string) => {
    const { record } = await rig.accounts.createKey({
      ...{ accountId: owner.accountId, environment: 'test', name },
    })
    return { ...owner, keyId: record.id }
  }
  const [good, bad] = [await next('good'), await next('bad')]
  // Both keys are in the cache as valid, and its notification comes too late.
  t.mock.method(rig.webhooks, 'accountsChanged', () => {})
  for (const { keyId } of [owner, bad]) {
    await rig.webhooks.pauseOf({
      ...(await rig.webhooks.subscriptions.find(owner.accountId, id)),
      keyId,
      active: true,
    })
    await rig.accounts.revokeKey(keyId)
  }
  const refused = { kind: 'unauthorized', detail: { reason: 'revoked' } }
  await assert.rejects(rig.webhooks.subscriptions.patch(bad, id, { active: true }), refused)
  await assert.rejects(rig.webhooks.subscriptions.patch(bad, id, { batch: true }), refused)
  assert.equal((await stateOf(id)).active, false)
  const taken = await rig.webhooks.subscriptions.patch(good, id, { active: true })
  assert.equal(taken.keyId, good.keyId)
  await arrives()
  assert.deepEqual(await stateOf(id), { active: true, reason: null })
})

test('a key that was revoked while the service was down is noticed when it starts', async (t) => {
  const first = await startRig()
  const owner = await first.createOwner()
  const receiver = await startReceiver()
  t.after(() => receiver.close())
  const asked = { url: receiver.url, kinds: ['block_added'], addresses: [], batch: false }
  await first.webhooks.subscriptions.create(owner, asked)
  await first.webhooks.close()
  await first.accounts.revokeKey(owner.keyId)
  await first.close({ keepFiles: true })
  const second = await startRig({ folder: first.folder })
  t.after(() => second.close())
  const { records } = await second.webhooks.subscriptions.list(owner.accountId, { limit: 1 })
  const [one] = records
  assert.equal(one?.disabledReason, 'key_revoked')
})

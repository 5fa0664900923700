/** What an account holder can create is limited, because the store keeps all of it. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import { createAccounts } from './accounts.ts'
import { planBook } from './plans.ts'

const DAY_MS = 86_400_000
const clock = manualClock(Date.UTC(2026, 2, 14))
const folder = mkdtempSync(join(tmpdir(), 'tapeline-accounts-'))
const store = storesIn(folder, clock).accounts()
const accounts = createAccounts({ store, plans: planBook(), clock, randomBytes, actor: 'me' })
after(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

test('an account has at most 100 keys, and makes at most 200 in a day', async () => {
  const { id: accountId } = await accounts.create({ email: 'a@example.com', plan: 'free' })
  const make = () => accounts.createKey({ accountId, environment: 'test', name: 'k' })
  const first = await Promise.all(Array.from({ length: 100 }, make))
  await assert.rejects(make(), /at most 100 keys/)
  const { id: other } = await accounts.create({ email: 'crowd@example.com', plan: 'free' })
  const crowd = Array.from({ length: 150 }, () =>
    accounts.createKey({ accountId: other, environment: 'test', name: 'k' }).catch(() => undefined),
  )
  assert.equal((await Promise.all(crowd)).filter((made) => made !== undefined).length, 100, 'also at once')
  for (const { record } of first) await accounts.revokeKey(record.id)
  const second = await Promise.all(Array.from({ length: 100 }, make))
  for (const { record } of second.slice(0, 50)) await accounts.revokeKey(record.id)
  await assert.rejects(make(), /At most 200 keys/)
  clock.advance(DAY_MS)
  await make()
})

test('a scope that is named twice is stored once', async () => {
  const { id: accountId } = await accounts.create({ email: 'scopes@example.com', plan: 'free' })
  const scopes = Array(1_000).fill(['market', 'node']).flat()
  const { record } = await accounts.createKey({ accountId, environment: 'test', name: 'k', scopes })
  assert.deepEqual(record.scopes, ['market', 'node'])
})

test('a key without any scope or address range is refused', async () => {
  const { id: accountId } = await accounts.create({ email: 'nowhere@example.com', plan: 'free' })
  const make = (input: object) => accounts.createKey({ accountId, environment: 'test', name: 'k', ...input })
  await assert.rejects(make({ scopes: [] }), /without any scope/)
  await assert.rejects(make({ allowedCidrs: [] }), /without any address range/)
})

test('revoking a key again leaves no further trace', async () => {
  const { id: accountId } = await accounts.create({ email: 'b@example.com', plan: 'free' })
  const { record } = await accounts.createKey({ accountId, environment: 'test', name: 'k' })
  for (let i = 0; i < 5; i++) await accounts.revokeKey(record.id)
  const entries = await store.listAudit({ limit: 100, accountId })
  assert.equal(entries.filter(({ action }) => action === 'key.revoked').length, 1)
})

test('a rotated key names its replacement', async () => {
  const { id: accountId } = await accounts.create({ email: 'c@example.com', plan: 'free' })
  const { record } = await accounts.createKey({ accountId, environment: 'test', name: 'k' })
  const rotated = await accounts.rotateKey(record.id, 1_000)
  assert.equal((await accounts.getKey(record.id)).replacedBy, rotated.record.id)
  assert.equal(rotated.record.replacedBy, null)
})

test('a key has one successor, which outlives the overlap, whatever the hours of it are', async () => {
  const { id: accountId } = await accounts.create({ email: 'd@example.com', plan: 'free' })
  const { record } = await accounts.createKey({ accountId, environment: 'test', name: 'k' })
  const rotated = await accounts.rotateKey(record.id, 0.0001 * 3_600_000 + 0.5)
  assert.equal((await accounts.getKey(record.id)).expiresAtMs, clock.now() + 361)
  const again = accounts.rotateKey(record.id, 1_000)
  await assert.rejects(
    again,
    new RegExp(`${record.id} was rotated already: ${rotated.record.id} replaced it`),
  )
  assert.equal((await accounts.getKey(rotated.record.id)).expiresAtMs, null)
  const { record: other } = await accounts.createKey({ accountId, environment: 'test', name: 'k' })
  const both = [0, 1].map(() => accounts.rotateKey(other.id, 1_000))
  const results = await Promise.allSettled(both)
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1, 'also at once')
})

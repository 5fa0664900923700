import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { StoreUnavailableError } from '../core/store-unavailable.ts'
import { createSecretBox } from '../kit/secret-box.ts'
import type { AccountsStore, HeldClaim, IdempotencyClaim } from '../store/accounts.ts'
import { createIdempotency } from './idempotency.ts'
import { planBook } from './plans.ts'
import { STORE_PATIENCE_MS } from './store-patience.ts'

const plan = planBook({ plans: [{ name: 'some', extends: 'business' }] }).get('some')
const scopeOf = (key: string) => ({
  ...{ accountId: 'a', environment: 'test' as const, plan, route: 'POST /v1/orders', key },
  body: Buffer.from('{}'),
})
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A store that answers only when the test says so. */
function hangingStore() {
  const clock = manualClock(0)
  const claims: { id: string; answer: (claim: IdempotencyClaim) => void }[] = []
  const released: HeldClaim[] = []
  const store = {
    claimIdempotency: ({ id }: { id: string }) =>
      new Promise<IdempotencyClaim>((resolve) => claims.push({ id, answer: resolve })),
    finishIdempotency: () => new Promise<void>(() => {}),
    releaseIdempotency: async (held: HeldClaim) => void released.push(held),
  } as unknown as AccountsStore
  const box = createSecretBox(Buffer.alloc(32, 1), (count) => Buffer.alloc(count, 2))
  return { clock, claims, released, idempotency: createIdempotency({ store, box, clock }) }
}

test('a store that hangs: callers are told, no more claims are queued, a late claim is given back', async () => {
  const { clock, claims, released, idempotency } = hangingStore()
  const first = assert.rejects(idempotency.begin(scopeOf('first')), StoreUnavailableError)
  clock.advance(STORE_PATIENCE_MS)
  await first
  await assert.rejects(idempotency.begin(scopeOf('second')), StoreUnavailableError)
  assert.equal(claims.length, 1)
  claims[0]?.answer({ state: 'fresh', claim: 7 })
  await turn()
  assert.deepEqual(released, [{ id: claims[0]?.id, claim: 7 }])
  // The store answers again, so claims succeed again.
  const third = idempotency.begin(scopeOf('third'))
  claims[1]?.answer({ state: 'fresh', claim: 8 })
  assert.deepEqual(await third, { held: { id: claims[1]?.id, claim: 8 } })
  await turn()
  assert.equal(released.length, 1)
})

test('a claim that is answered after it may have run out is given back under its own number', async () => {
  const { clock, claims, released, idempotency } = hangingStore()
  const refused = assert.rejects(idempotency.begin(scopeOf('key')), StoreUnavailableError)
  clock.advance(STORE_PATIENCE_MS)
  await refused
  clock.advance(60_000)
  claims[0]?.answer({ state: 'fresh', claim: 7 })
  await turn()
  assert.deepEqual(released, [{ id: claims[0]?.id, claim: 7 }])
})

test('an answer is given although it cannot be kept yet', async () => {
  const { clock, claims, idempotency } = hangingStore()
  const begun = idempotency.begin(scopeOf('key'))
  claims[0]?.answer({ state: 'fresh', claim: 7 })
  const { held } = (await begun) as { held: HeldClaim }
  const reply = { status: 200, headers: [], bytes: 2, body: () => '{}' }
  const finished = idempotency.finish(held, plan, reply, (error) => assert.fail(String(error)))
  clock.advance(STORE_PATIENCE_MS)
  await finished
})

test('the claim of a request is extended for as long as it runs', async () => {
  const clock = manualClock(0)
  const extended: [HeldClaim, number][] = []
  const store = {
    extendIdempotency: async (...call: [HeldClaim, number]) => void extended.push(call),
  } as unknown as AccountsStore
  const box = createSecretBox(Buffer.alloc(32, 1), (count) => Buffer.alloc(count, 2))
  const held = { id: 'i', claim: 7 }
  const end = createIdempotency({ store, box, clock }).keep(held)
  for (let second = 0; second < 60; second++) {
    clock.advance(1_000)
    await turn()
  }
  assert.deepEqual(extended, Array(3).fill([held, 60_000]))
  end()
  clock.advance(60_000)
  await turn()
  assert.equal(extended.length, 3)
})

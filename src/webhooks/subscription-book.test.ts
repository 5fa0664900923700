import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { testAddress } from '../../test/fakes/event-writer.ts'
import { watchTurns } from '../../test/fakes/loop-hold.ts'
import { silentLog } from '../../test/fakes/service.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import { createSubscriptionBook } from './subscription-book.ts'

const SUBSCRIPTIONS = 120
const ADDRESSES = 5_000
/** Reading all of them in one go takes far longer. */
const MAX_HOLD_MS = 60

test('subscriptions with very many addresses are read without holding the loop, and each is matched', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-book-'))
  const store = storesIn(folder).jobs('test')
  t.after(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const addresses = Array.from({ length: ADDRESSES }, (_, index) => testAddress(index))
  for (let index = 0; index < SUBSCRIPTIONS; index++) {
    const id = `wh_${index}`
    const owned = { accountId: 'a', keyId: 'k', url: 'https://example.com', secret: 's', batch: false }
    await store.createSubscription(
      { ...owned, id, kinds: ['utxos_changed'], addresses, createdAtMs: index },
      SUBSCRIPTIONS,
    )
  }
  const book = createSubscriptionBook({ store, watch: () => () => {}, log: silentLog })
  const stop = watchTurns()
  assert.equal(await book.reload(), true)
  const hold = stop()
  assert.equal(book.activeCount, SUBSCRIPTIONS)
  assert.equal([...book.match({ kind: 'utxos_changed', addresses: [testAddress(7)] })].length, SUBSCRIPTIONS)
  t.diagnostic(`hold ${hold.toFixed(1)} ms`)
  assert.ok(hold < MAX_HOLD_MS, `held for ${hold.toFixed(0)} ms`)
  assert.equal(await book.reload(), false, 'nothing has changed since')
  const pages = t.mock.method(store, 'subscriptionPage')
  await store.deleteSubscription('wh_3')
  await store.updateSubscription('wh_4', { active: false })
  await store.updateSubscription('wh_5', { kinds: ['block_added'], addresses: [] })
  assert.equal(await book.reload(), true)
  assert.equal(book.activeCount, SUBSCRIPTIONS - 2)
  assert.deepEqual([book.all.has('wh_3'), book.all.get('wh_4')?.active], [false, false])
  assert.deepEqual([...book.match({ kind: 'block_added', addresses: [] })], ['wh_5'])
  assert.equal(pages.mock.callCount(), 0, 'only what was changed is read again')
})

test('while a slow read runs, one more waits for all who ask, and sees what was changed meanwhile', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-book-'))
  const store = storesIn(folder).jobs('test')
  t.after(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  let reads = 0
  const answers: (() => void)[] = []
  const slow = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (name !== 'subscriptionsVersion' || typeof value !== 'function')
        return typeof value === 'function' ? value.bind(target) : value
      return async () => {
        reads += 1
        await new Promise<void>((resolve) => answers.push(resolve))
        return value.call(target)
      }
    },
  })
  const book = createSubscriptionBook({ store: slow, watch: () => () => {}, log: silentLog })
  const asked = Array.from({ length: 50 }, () => book.reload())
  await store.createSubscription(
    {
      ...{ id: 'wh_new', accountId: 'a', keyId: 'k', url: 'https://example.com', secret: 's', batch: false },
      ...{ kinds: ['block_added'], addresses: [], createdAtMs: 1 },
    },
    10,
  )
  const release = setInterval(() => {
    for (const answer of answers.splice(0)) answer()
  }, 1)
  await Promise.all([...asked, book.reload()])
  clearInterval(release)
  assert.ok(reads <= 3, `${reads} reads`)
  assert.equal(book.all.has('wh_new'), true)
})

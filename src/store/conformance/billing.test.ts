/** What every engine must guarantee about the payment provider's customers and events. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS } from '../../core/time.ts'
import type { Stores } from '../open-stores.ts'
import { ENGINES, withFreshStore } from './engines.ts'

type Opened = ReturnType<Stores['accounts']>

const LINK = {
  customer: 'cus_1',
  accountId: 'acc_1',
  lastEventAtMs: 0,
  subscription: '',
  status: '',
  linkedAtMs: 5,
}

for (const engine of ENGINES) {
  const withBilling = (run: (store: Opened, tools: { again: () => Opened }) => Promise<void>) =>
    withFreshStore(engine, (stores) => stores.accounts(), run)

  test(`${engine.name}: a customer has one link, the newest, and needs its account`, () =>
    withBilling(async (store, { again }) => {
      await assert.rejects(store.linkBilling(LINK))
      for (const id of ['acc_1', 'acc_2']) {
        await store.createAccount({ id, email: `${id}@y`, plan: 'free', billingDay: 1, createdAtMs: 1 })
      }
      await store.linkBilling(LINK)
      const newer = { ...LINK, accountId: 'acc_2', lastEventAtMs: 9, subscription: 'sub', status: 'active' }
      assert.equal(await store.linkBilling({ ...newer, status: 'trialing' }), true)
      assert.equal(await store.linkBilling(newer), true, 'of the same time')
      assert.equal(await store.linkBilling({ ...newer, lastEventAtMs: 8, status: 'past_due' }), false)
      await store.linkBilling({ ...LINK, customer: 'cus_2' })
      const other = again()
      assert.deepEqual(await other.findBilling('cus_1'), newer)
      assert.equal(await other.findBilling('cus_3'), undefined)
      assert.deepEqual((await other.listBilling()).map(({ customer }) => customer).sort(), ['cus_1', 'cus_2'])
    }))

  test(`${engine.name}: an event is known once it was recorded, for longer than a provider repeats it`, () =>
    withBilling(async (store) => {
      assert.equal(await store.hasBillingEvent('evt_1'), false)
      await store.noteBillingEvent('evt_1', 1_000)
      await store.noteBillingEvent('evt_1', 2_000)
      await store.noteBillingEvent('evt_2', 30 * DAY_MS)
      assert.deepEqual(
        [await store.hasBillingEvent('evt_1'), await store.hasBillingEvent('evt_2')],
        [true, true],
      )
      await store.noteBillingEvent('evt_3', 61 * DAY_MS)
      assert.deepEqual(
        [await store.hasBillingEvent('evt_1'), await store.hasBillingEvent('evt_2')],
        [false, true],
      )
    }))
}

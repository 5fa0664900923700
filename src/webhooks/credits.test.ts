import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testAddress } from '../../test/fakes/event-writer.ts'
import { startRig } from '../../test/fakes/webhook-rig.ts'
import type { Ledger } from '../accounts/ledger.ts'
import type { PlanBook } from '../accounts/plans.ts'
import { BUILT_IN_PLANS } from '../core/plan.ts'
import { StoreUnavailableError } from '../core/store-unavailable.ts'
import { systemClock } from '../kit/clock.ts'
import type { AccountRecord } from '../store/accounts.ts'
import { createCredits } from './credits.ts'

test('what was delivered is owed, also where others have spent the credits meanwhile', async () => {
  const rig = await startRig()
  try {
    const owner = await rig.createOwner()
    const { accountId } = owner
    const credits = createCredits({
      ...{ ledger: rig.ledger, accounts: rig.accountsStore, plans: rig.plans, clock: systemClock },
      environment: 'test',
    })
    await rig.accounts.setCredits(accountId, 2)
    const reservation = await credits.reserve(owner, 2)
    assert.ok(reservation.ok)
    assert.equal(reservation.count, 2)
    await rig.accounts.setCredits(accountId, 0)
    rig.ledger.reload([accountId])
    await reservation.charge(['whd_1', 'whd_2'])
    assert.equal(await rig.creditsUsed(accountId), 2)
  } finally {
    await rig.close()
  }
})

test('a batch waits for the store once, and then owes the rest, so that its claims last', async () => {
  const [, plan] = BUILT_IN_PLANS
  const tried: string[] = []
  const owed: string[] = []
  const ledger = {
    open: () => ({ remaining: 5 }),
    isFresh: () => true,
    charge(_: unknown, { id }: { id: string }) {
      tried.push(id)
      return id === 'whd_1' || Promise.reject(new StoreUnavailableError('The store takes too long.'))
    },
    owe: (_: unknown, { id }: { id: string }) => owed.push(id),
  }
  const credits = createCredits({
    ledger: ledger as unknown as Ledger,
    accounts: {
      getAccount: async () =>
        ({ plan: 'pro', billingDay: 1, pausedReason: null }) as unknown as AccountRecord,
      newestKeyOf: async () => undefined,
    },
    plans: { get: () => ({ ...plan, tier: 'pro' }) } as unknown as PlanBook,
    ...{ environment: 'test', clock: systemClock },
  })
  const reservation = await credits.reserve({ accountId: 'a', keyId: 'k' }, 4)
  assert.ok(reservation.ok)
  await reservation.charge(['whd_1', 'whd_2', 'whd_3', 'whd_4'])
  assert.deepEqual(tried, ['whd_1', 'whd_2'])
  assert.deepEqual(owed, ['whd_2', 'whd_3', 'whd_4'])
})

test('webhooks of a larger plan wait: the oldest go on, as many as the plan allows, with as many addresses', async () => {
  const rig = await startRig()
  try {
    const owner = await rig.createOwner()
    const { plan } = owner
    const create = async (count: number) => {
      // Webhooks are ordered by their creation time in milliseconds.
      await systemClock.sleep(3)
      const addresses = Array.from({ length: count }, (_, n) => testAddress(n))
      const asked = { url: 'http://127.0.0.1:65535/', kinds: ['utxos_changed'], addresses, batch: false }
      return (await rig.webhooks.subscriptions.create(owner, asked)).subscription
    }
    const made = [await create(1), await create(3), await create(1), await create(1)]
    const pauses = () => Promise.all(made.map((each) => rig.webhooks.pauseOf(each)))
    assert.deepEqual(await pauses(), [undefined, undefined, undefined, undefined])

    const smaller = { ...plan, webhookSubscriptions: 3, webhookAddresses: 2 }
    const plans = { ...rig.plans, get: () => smaller }
    const credits = createCredits({
      ...{ ledger: rig.ledger, accounts: rig.accountsStore, plans, clock: systemClock },
      ...{ webhooks: rig.jobs, environment: 'test' },
    })
    const now = await Promise.all(made.map((each) => credits.pauseOf(each)))
    assert.deepEqual(now, [undefined, 'plan', undefined, 'plan'])
    const [first, , , last] = made
    assert.ok(first && last)
    const refused = await credits.reserve(last, 1)
    assert.deepEqual(refused, { ok: false, reason: 'plan' })
    assert.equal((await credits.reserve(first, 1)).ok, true)

    await rig.jobs.updateSubscription(first.id, { active: false })
    credits.forget([owner.accountId])
    assert.equal(await credits.pauseOf(last), undefined, 'one that is switched off takes no place')
    await rig.jobs.updateSubscription(first.id, { active: true })
    credits.forget([owner.accountId])
    assert.equal(await credits.pauseOf(last), 'plan')

    await rig.jobs.deleteSubscription(first.id)
    credits.forget([owner.accountId])
    assert.equal(await credits.pauseOf(last), undefined, 'the next one has its place')
  } finally {
    await rig.close()
  }
})

test('what was read of an account while it changed is read again, and changes no limit', async () => {
  const gate = Promise.withResolvers<void>()
  const reasons = [null, 'by the operator']
  const [, plan] = BUILT_IN_PLANS
  const opened: boolean[] = []
  const open = (_: unknown, { isCurrent }: { isCurrent: boolean }) => {
    opened.push(isCurrent)
    return { remaining: 5 }
  }
  const credits = createCredits({
    ledger: { open, isFresh: () => true } as unknown as Ledger,
    accounts: {
      async getAccount() {
        const pausedReason = reasons.shift()
        await gate.promise
        return { plan: 'developer', billingDay: 1, pausedReason } as unknown as AccountRecord
      },
      newestKeyOf: async () => undefined,
    },
    plans: { get: () => plan } as unknown as PlanBook,
    ...{ environment: 'test', clock: systemClock },
  })
  const pause = credits.pauseOf({ accountId: 'a', keyId: 'k' })
  credits.forget(['a'])
  gate.resolve()
  assert.equal(await pause, 'account_paused')
  assert.deepEqual(opened, [false, true])
})

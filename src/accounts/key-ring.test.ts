import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import { createLogger } from '../kit/log.ts'
import type { AccountsStore } from '../store/accounts.ts'
import { type Accounts, createAccounts } from './accounts.ts'
import { hashKey, KeyRing } from './key-ring.ts'
import { Ledger } from './ledger.ts'
import { planBook } from './plans.ts'

/** More than are tried. */
const MANY_READS = 100

/** An account on the free plan and a key ring whose next `stale` reads are overtaken by a change of the account. */
async function overtaken(
  change: (accounts: Accounts, ids: { accountId: string; keyId: string }) => Promise<unknown>,
) {
  const clock = manualClock(Date.UTC(2026, 2, 14))
  const store = storesIn(':memory:', clock).accounts()
  const plans = planBook()
  const accounts = createAccounts({ store, plans, clock, randomBytes })
  const { id: accountId } = await accounts.create({ email: 'a@example.com', plan: 'free', billingDay: 1 })
  const { key, record } = await accounts.createKey({ accountId, environment: 'test', name: 'k' })
  const before = { found: await store.findKey(hashKey(key)), account: await store.getAccount(accountId) }
  await change(accounts, { accountId, keyId: record.id })
  const reads = { stale: 0 }
  /** The store's answer is from before the change, and this process was notified of the change meanwhile. */
  const overtake = <T>(old: T, now: () => Promise<T>) => {
    if (reads.stale === 0) return now()
    reads.stale--
    keys.forget([accountId])
    return Promise.resolve(old)
  }
  const late: AccountsStore = {
    ...store,
    findKey: (hash) => overtake(before.found, () => store.findKey(hash)),
    getAccount: (id) => overtake(before.account, () => store.getAccount(id)),
  }
  const ledger = new Ledger({ store, holder: 'h', clock, log: createLogger({ level: 'silent' }) })
  const keys = new KeyRing({ store: late, plans, ledger })
  const close = async () => {
    await ledger.close()
    await store.close()
  }
  return { clock, keys, reads, key, accountId, close }
}

test('a key that changes while it is read is read again, and not kept if its last read is overtaken too', async () => {
  const { clock, keys, reads, key, close } = await overtaken((accounts, { keyId }) =>
    accounts.revokeKey(keyId),
  )
  for (const [stale, revokedAtMs] of [
    [MANY_READS, null],
    [1, clock.now()],
  ] as const) {
    reads.stale = stale
    const found = await keys.find(key)
    reads.stale = 0
    assert.equal(found.ok && found.credential.key.revokedAtMs, revokedAtMs)
    assert.equal(keys.known(key) !== undefined, revokedAtMs !== null)
  }
  await close()
})

test('a late read of the plan before does not replace the limits of the new plan', async () => {
  const { keys, reads, key, accountId, close } = await overtaken((accounts, ids) =>
    accounts.setPlan(ids.accountId, 'business'),
  )
  const readers = [
    async () => {
      keys.forget([accountId])
      const found = await keys.find(key)
      return found.ok ? found.credential : assert.fail()
    },
    async () => (await keys.viewer(accountId, 'test')) ?? assert.fail(),
  ]
  for (const read of readers) {
    const { rate, budgets } = await read()
    for (const stale of [1, MANY_READS]) {
      reads.stale = stale
      assert.equal((await read()).rate, rate)
      assert.equal(budgets[0]?.initialLimit, 50_000_000)
      reads.stale = 0
      assert.equal((await read()).rate, rate, 'all keys of an account share one rate')
    }
  }
  await close()
})

test('a rotated key goes on with what its predecessor has left of the cap, and both spend from it', async () => {
  const clock = manualClock(Date.UTC(2026, 2, 14))
  const store = storesIn(':memory:', clock).accounts()
  const plans = planBook()
  const accounts = createAccounts({ store, plans, clock, randomBytes })
  const { id: accountId } = await accounts.create({ email: 'a@example.com', plan: 'free' })
  const input = { accountId, environment: 'test', name: 'k', creditCap: 100 } as const
  const first = await accounts.createKey(input)
  const second = await accounts.rotateKey(first.record.id, 3_600_000)
  const ledger = new Ledger({ store, holder: 'h', clock, log: createLogger({ level: 'silent' }) })
  const keys = new KeyRing({ store, plans, ledger })
  const credentials = await Promise.all(
    [first.key, second.key].map(async (text) => {
      const found = await keys.find(text)
      assert.ok(found.ok)
      return found.credential
    }),
  )
  for (const [index, credential] of credentials.entries())
    assert.ok(await ledger.charge(credential, { id: `r${index}`, endpoint: 'e', credits: 40, rows: 0 }))
  assert.deepEqual(
    credentials.map(({ budgets }) => budgets[1]?.remaining),
    [20, 20],
  )
  await ledger.close()
  await store.close()
})

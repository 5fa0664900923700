import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import { createLogger } from '../kit/log.ts'
import type { AccountsStore } from '../store/accounts.ts'
import { createAccounts } from './accounts.ts'
import { KeyRing } from './key-ring.ts'
import { Ledger } from './ledger.ts'
import { planBook } from './plans.ts'

test('a key whose account changes while it is read is read again by the next request', async () => {
  const clock = manualClock(Date.UTC(2026, 2, 14))
  const store = storesIn(':memory:', clock).accounts()
  const plans = planBook()
  const accounts = createAccounts({ store, plans, clock, randomBytes })
  const { id: accountId } = await accounts.create({ email: 'a@example.com', plan: 'free' })
  const { key, record } = await accounts.createKey({ accountId, environment: 'test', name: 'k' })
  let isRevoking = true
  const slow: AccountsStore = {
    ...store,
    // The key is revoked, and this process is notified, before the store's answer arrives.
    async findKey(hash) {
      const found = await store.findKey(hash)
      if (isRevoking) {
        isRevoking = false
        await accounts.revokeKey(record.id)
        keys.forget([accountId])
      }
      return found
    },
  }
  const ledger = new Ledger({ store, holder: 'h', clock, log: createLogger({ level: 'silent' }) })
  const keys = new KeyRing({ store: slow, plans, ledger })
  await keys.find(key)
  assert.equal(keys.known(key), undefined)
  const again = await keys.find(key)
  assert.equal(again.ok && again.credential.key.revokedAtMs, clock.now())
  assert.ok(keys.known(key))
  await ledger.close()
  await store.close()
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

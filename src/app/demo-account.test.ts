import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import { createAccounts } from '../accounts/accounts.ts'
import { planBook } from '../accounts/plans.ts'
import { createDemoAccount, DEMO_EMAIL } from './demo-account.ts'

const clock = manualClock(Date.UTC(2026, 2, 14))
const folder = mkdtempSync(join(tmpdir(), 'tapeline-demo-'))
const store = storesIn(folder, clock).accounts()
const accounts = createAccounts({ store, plans: planBook(), clock, randomBytes })
after(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

test('a demo account that a killed start left without a key gets it later, and only one', async () => {
  const start = () => createDemoAccount(store, accounts, clock)
  const { id } = await accounts.create({ email: DEMO_EMAIL, plan: 'business' })
  assert.equal(await start(), undefined, 'another process may be making it')
  clock.advance(60_000)
  assert.match((await start()) ?? '', /^svc_test_/)
  const [key, ...others] = await store.listKeys(id)
  assert.equal(others.length, 0)
  await accounts.revokeKey(key?.id ?? '')
  assert.equal(await start(), undefined)
})

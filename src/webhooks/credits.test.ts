import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRig } from '../../test/fakes/webhook-rig.ts'
import { systemClock } from '../kit/clock.ts'
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

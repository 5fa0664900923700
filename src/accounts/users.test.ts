import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import { createAccounts } from './accounts.ts'
import { createPasswords } from './password.ts'
import { createPasswordResets } from './password-reset.ts'
import { planBook } from './plans.ts'
import { createUsers } from './users.ts'

const clock = manualClock(Date.UTC(2026, 2, 14))
const folder = mkdtempSync(join(tmpdir(), 'tapeline-users-'))
const store = storesIn(folder, clock).accounts()
const passwords = createPasswords()
const accounts = createAccounts({ store, plans: planBook(), clock, randomBytes, actor: 'me' })
const resets = createPasswordResets({ store, passwords, clock, randomBytes })
const users = createUsers({ store, accounts, passwords, clock, randomBytes, planOfNew: 'free' })
after(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

const OLD = 'the old password'
const NEW = 'the new password'

test('a sign-in with the old password that ends after a reset opens no session', async () => {
  const email = 'a@example.com'
  await users.signUp({ email, password: OLD })
  const signedIn = await users.verify({ email, password: OLD })
  assert.ok(signedIn)
  const { token } = await resets.issue(email)
  assert.ok(await resets.redeem(token, NEW))
  assert.equal(await users.openSession(signedIn.user.id, signedIn), undefined)
  const again = await users.verify({ email, password: NEW })
  const session = again && (await users.openSession(again.user.id, again))
  assert.ok(session && (await users.findSession(session.token)))
})

test('a change with the old password that ends after a reset changes nothing, and of several changes one succeeds', async () => {
  const email = 'b@example.com'
  const user = await users.signUp({ email, password: OLD })
  const { token } = await resets.issue(email)
  // The reset is written while the change hashes its new password.
  const slow = createUsers({
    ...{ store, accounts, clock, randomBytes, planOfNew: 'free' },
    passwords: {
      ...passwords,
      hash: async (password, caller) => {
        await resets.redeem(token, NEW)
        return passwords.hash(password, caller)
      },
    },
  })
  assert.equal(await slow.changePassword(user, { current: OLD, next: 'of the thief', token: '' }), false)
  assert.ok(await users.verify({ email, password: NEW }))
  const changes = ['the first one', 'the second one'].map((next) =>
    users.changePassword(user, { current: NEW, next, token: '' }),
  )
  assert.deepEqual((await Promise.all(changes)).toSorted(), [false, true])
})

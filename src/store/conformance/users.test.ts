/** What every engine has to hold of users, sessions, invitations, password links and the audit log. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ManualClock } from '../../../test/fakes/manual-clock.ts'
import { type AccountsStore, ConflictError } from '../accounts.ts'
import type { UsersStore } from '../users.ts'
import { ENGINES, type StoreEngine, withFreshStore } from './engines.ts'

const withUsers = (
  engine: StoreEngine,
  run: (store: AccountsStore & UsersStore, tools: { clock: ManualClock }) => Promise<void>,
) => withFreshStore(engine, (stores) => stores.accounts(), run)

const USER = { email: 'a@example.com', role: 'operator', accountId: 'acc_1', createdAtMs: 1 } as const

for (const engine of ENGINES) {
  test(`${engine.name}: an e-mail address is taken once, in any case`, () =>
    withUsers(engine, async (store) => {
      await store.createAccount({ id: 'acc_1', email: 'x@y', plan: 'free', billingDay: 1, createdAtMs: 1 })
      await store.createUser({ id: 'usr_1', passwordHash: 'h', ...USER })
      assert.equal((await store.findUser('A@EXAMPLE.com'))?.passwordHash, 'h')
      await assert.rejects(
        store.createUser({ id: 'usr_2', passwordHash: 'h', ...USER, email: 'A@example.com' }),
        ConflictError,
      )
    }))

  test(`${engine.name}: a user is made together with an account, or neither is`, () =>
    withUsers(engine, async (store) => {
      const account = (id: string, email: string) => ({
        ...{ id, email, plan: 'free', billingDay: 1, createdAtMs: 1 },
      })
      const user = (id: string, accountId: string) => ({ id, passwordHash: 'h', ...USER, accountId })
      await store.createUser(user('usr_1', 'acc_1'), account('acc_1', USER.email))
      assert.equal((await store.getAccount('acc_1'))?.email, USER.email)
      assert.equal((await store.findUser(USER.email))?.user.accountId, 'acc_1')
      await assert.rejects(
        store.createUser(user('usr_2', 'acc_2'), account('acc_2', 'free@example.com')),
        ConflictError,
      )
      assert.equal(await store.getAccount('acc_2'), undefined, 'the user was refused')
      await assert.rejects(
        store.createUser(
          { ...user('usr_3', 'acc_3'), email: 'new@example.com' },
          account('acc_3', USER.email),
        ),
        ConflictError,
      )
      assert.equal(await store.findUser('new@example.com'), undefined, 'the account was refused')
    }))

  test(`${engine.name}: an invitation is taken once, and a newer one ends it`, () =>
    withUsers(engine, async (store) => {
      await store.putInvitation({ hash: 'one', role: 'operator', accountId: null })
      await store.putInvitation({ hash: 'two', role: 'operator', accountId: null })
      assert.equal(await store.findInvitation('one'), undefined)
      const taken = await Promise.all([store.takeInvitation('two'), store.takeInvitation('two')])
      assert.deepEqual(taken.sort(), [false, true])
    }))

  test(`${engine.name}: sessions end one by one, all but one, and when they expire; the audit log is paged, newest first`, () =>
    withUsers(engine, async (store, { clock }) => {
      await store.createAccount({ id: 'acc_1', email: 'x@y', plan: 'free', billingDay: 1, createdAtMs: 1 })
      await store.createUser({ id: 'usr_1', passwordHash: 'h', ...USER })
      for (const [hash, expiresAtMs] of [
        ['a', 10],
        ['b', 20],
        ['c', 30],
        ['d', 40],
      ] as const) {
        await store.createSession({ hash, userId: 'usr_1', createdAtMs: 1, expiresAtMs })
      }
      const open = async () => {
        const found = await Promise.all(['a', 'b', 'c', 'd'].map((hash) => store.findSession(hash)))
        return found.map((session) => session?.user.id === 'usr_1')
      }
      clock.set(10)
      await store.pruneSessions()
      assert.deepEqual(await open(), [false, true, true, true])
      await store.deleteSession('b')
      assert.deepEqual(await open(), [false, false, true, true])
      await store.deleteSessionsOf('usr_1', 'd')
      assert.deepEqual(await open(), [false, false, false, true])

      for (let i = 0; i < 5; i++) {
        await store.addAudit({
          atMs: i,
          actor: 'x',
          action: `act.${i}`,
          accountId: i % 2 ? 'acc_1' : null,
          detail: '',
        })
      }
      const page = await store.listAudit({ limit: 2 })
      assert.deepEqual(
        page.map(({ action }) => action),
        ['act.4', 'act.3'],
      )
      const next = await store.listAudit({ limit: 9, before: page[1]?.seq ?? 0 })
      assert.deepEqual(
        next.map(({ action }) => action),
        ['act.2', 'act.1', 'act.0'],
      )
      const own = await store.listAudit({ limit: 9, accountId: 'acc_1' })
      assert.deepEqual(
        own.map(({ action }) => action),
        ['act.3', 'act.1'],
      )
    }))

  test(`${engine.name}: a user has at most 50 sessions: the oldest ends, and other users are not affected`, () =>
    withUsers(engine, async (store) => {
      await store.createAccount({ id: 'acc_1', email: 'x@y', plan: 'free', billingDay: 1, createdAtMs: 1 })
      await store.createUser({ id: 'usr_1', passwordHash: 'h', ...USER })
      await store.createUser({ id: 'usr_2', passwordHash: 'h', ...USER, email: 'b@example.com' })
      await store.createSession({ hash: 'other', userId: 'usr_2', createdAtMs: 0, expiresAtMs: 9_000 })
      for (let i = 0; i < 60; i++) {
        await store.createSession({ hash: `s${i}`, userId: 'usr_1', createdAtMs: i, expiresAtMs: 9_000 })
      }
      const found = await Promise.all(Array.from({ length: 60 }, (_, i) => store.findSession(`s${i}`)))
      assert.deepEqual(
        found.map((session) => session !== undefined),
        Array.from({ length: 60 }, (_, i) => i >= 10),
      )
      assert.ok(await store.findSession('other'))
    }))

  test(`${engine.name}: a password can be set by its owner, and once by the holder of the newest link before it expires`, () =>
    withUsers(engine, async (store, { clock }) => {
      await store.createAccount({ id: 'acc_1', email: 'x@y', plan: 'free', billingDay: 1, createdAtMs: 1 })
      await store.createUser({ id: 'usr_1', passwordHash: 'h', ...USER })
      assert.deepEqual(
        (await store.listUsers()).map(({ id }) => id),
        ['usr_1'],
      )
      assert.equal(await store.setPassword('usr_9', 'x'), false)
      assert.equal(await store.setPassword('usr_1', 'own'), true)
      await store.createSession({ hash: 's', userId: 'usr_1', createdAtMs: 1, expiresAtMs: 9_000 })
      for (const hash of ['old', 'new'])
        await store.putPasswordReset({ hash, userId: 'usr_1', expiresAtMs: 100 })
      assert.equal(await store.findPasswordReset('old'), undefined)
      assert.equal((await store.findPasswordReset('new'))?.user.id, 'usr_1')
      clock.set(99)
      assert.equal(await store.takePasswordReset({ hash: 'old', passwordHash: 'x' }), false)
      const taken = [1, 2].map(() => store.takePasswordReset({ hash: 'new', passwordHash: 'reset' }))
      assert.deepEqual((await Promise.all(taken)).sort(), [false, true])
      assert.equal((await store.findUser(USER.email))?.passwordHash, 'reset')
      assert.equal(await store.findSession('s'), undefined, 'all sessions end')
      await store.putPasswordReset({ hash: 'before', userId: 'usr_1', expiresAtMs: 1_000 })
      assert.equal(await store.setPassword('usr_1', 'changed'), true)
      assert.equal(
        await store.findPasswordReset('before'),
        undefined,
        'a new password ends what would reset it',
      )
      await store.putPasswordReset({ hash: 'late', userId: 'usr_1', expiresAtMs: 100 })
      clock.set(100)
      assert.equal(await store.takePasswordReset({ hash: 'late', passwordHash: 'x' }), false)
    }))
}

/** What every engine must guarantee about users, sessions, invitations, password links and the audit log. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ManualClock } from '../../../test/fakes/manual-clock.ts'
import { type AccountsStore, ConflictError, type NewKey } from '../accounts.ts'
import type { AuditEntry } from '../audit-entry.ts'
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
      await store.createUser(user('usr_1', 'acc_1'), { account: account('acc_1', USER.email) })
      assert.equal((await store.getAccount('acc_1'))?.email, USER.email)
      assert.equal((await store.findUser(USER.email))?.user.accountId, 'acc_1')
      await assert.rejects(
        store.createUser(user('usr_2', 'acc_2'), { account: account('acc_2', 'free@example.com') }),
        ConflictError,
      )
      assert.equal(await store.getAccount('acc_2'), undefined, 'the user was refused')
      await assert.rejects(
        store.createUser(
          { ...user('usr_3', 'acc_3'), email: 'new@example.com' },
          { account: account('acc_3', USER.email) },
        ),
        ConflictError,
      )
      assert.equal(await store.findUser('new@example.com'), undefined, 'the account was refused')
    }))

  test(`${engine.name}: an invitation is taken once, together with its user, and a newer one ends it`, () =>
    withUsers(engine, async (store) => {
      await store.createAccount({ id: 'acc_1', email: 'x@y', plan: 'free', billingDay: 1, createdAtMs: 1 })
      await store.createUser({ id: 'usr_1', passwordHash: 'h', ...USER })
      await store.putInvitation({ hash: 'one', role: 'operator', accountId: null })
      await store.putInvitation({ hash: 'two', role: 'operator', accountId: null })
      assert.equal(await store.findInvitation('one'), undefined)
      const take = (id: string, email: string) =>
        store.takeInvitation('two', { id, passwordHash: 'h', ...USER, email })
      await assert.rejects(take('usr_2', USER.email), ConflictError)
      assert.ok(await store.findInvitation('two'), 'the user was refused')
      const taken = await Promise.all([take('usr_3', 'c@example.com'), take('usr_4', 'd@example.com')])
      assert.equal(taken.filter((user) => user !== undefined).length, 1)
      assert.equal((await store.listUsers()).length, 2)
      assert.equal(await store.findInvitation('two'), undefined)
    }))

  test(`${engine.name}: sessions end one by one, all but one with a new password, and when they expire; the audit log is paged, newest first`, () =>
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
      await store.setPassword({ userId: 'usr_1', passwordHash: 'new', keptSession: 'd' })
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
      assert.equal(await store.setPassword({ userId: 'usr_9', passwordHash: 'x', keptSession: '' }), false)
      assert.equal(await store.setPassword({ userId: 'usr_1', passwordHash: 'own', keptSession: '' }), true)
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
      assert.equal(
        await store.setPassword({ userId: 'usr_1', passwordHash: 'changed', keptSession: '' }),
        true,
      )
      assert.equal(
        await store.findPasswordReset('before'),
        undefined,
        'a new password ends what would reset it',
      )
      await store.putPasswordReset({ hash: 'late', userId: 'usr_1', expiresAtMs: 100 })
      clock.set(100)
      assert.equal(await store.takePasswordReset({ hash: 'late', passwordHash: 'x' }), false)
    }))

  test(`${engine.name}: a password that was replaced in the meantime neither opens a session nor allows a change`, () =>
    withUsers(engine, async (store) => {
      await store.createAccount({ id: 'acc_1', email: 'x@y', plan: 'free', billingDay: 1, createdAtMs: 1 })
      await store.createUser({ id: 'usr_1', passwordHash: 'h', ...USER })
      const open = (hash: string, openedWith: string) =>
        store.createSession({ hash, userId: 'usr_1', createdAtMs: 1, expiresAtMs: 9_000, openedWith })
      const change = (passwordHash: string, replaces: string) =>
        store.setPassword({ userId: 'usr_1', passwordHash, keptSession: '', replaces })
      assert.equal(await open('early', 'h'), true)
      const changes = await Promise.all([change('a', 'h'), change('b', 'h')])
      assert.deepEqual(changes.toSorted(), [false, true])
      const now = changes[0] ? 'a' : 'b'
      assert.equal((await store.findUser(USER.email))?.passwordHash, now)
      assert.equal(await store.findSession('early'), undefined)
      assert.equal(await open('late', 'h'), false)
      assert.equal(await store.findSession('late'), undefined)

      assert.equal(await open('kept', now), true)
      await store.putPasswordReset({ hash: 'link', userId: 'usr_1', expiresAtMs: 1e15 })
      assert.equal(await change('c', 'h'), false)
      assert.ok(await store.findSession('kept'), 'a refused change ends no session')
      assert.ok(await store.findPasswordReset('link'), 'nor a link')

      // Whatever the order of the two, no session that was opened with the old password is left.
      for (let round = 0; round < 10; round++) {
        await store.putPasswordReset({ hash: `r${round}`, userId: 'usr_1', expiresAtMs: 1e15 })
        const hash = (await store.findUser(USER.email))?.passwordHash ?? ''
        await Promise.all([
          open(`s${round}`, hash),
          store.takePasswordReset({ hash: `r${round}`, passwordHash: `p${round}` }),
          open(`t${round}`, hash),
        ])
        for (const name of ['s', 't']) assert.equal(await store.findSession(`${name}${round}`), undefined)
      }
    }))

  test(`${engine.name}: a change and its entry in the audit log are written together, or neither is`, () =>
    withUsers(engine, async (store) => {
      const entry = (action: string) => ({ atMs: 1, actor: 'me', action, accountId: 'acc_1', detail: '' })
      const unwritable = { ...entry('broken'), actor: null as unknown as string }
      const account = { id: 'acc_1', email: 'x@y', plan: 'free', billingDay: 1, createdAtMs: 1 }
      const key = (id: string): NewKey => ({
        ...{ id, accountId: 'acc_1', environment: 'test', name: 'k', hash: `hash of ${id}`, hint: 'abcd' },
        ...{ scopes: null, allowedCidrs: null, creditCap: null, createdAtMs: 1, expiresAtMs: null },
      })
      const user = { id: 'usr_1', passwordHash: 'h', ...USER }
      const invited = { ...user, id: 'usr_2', email: 'b@example.com' }
      const budget = { id: 'acc_1:test', periodStartMs: 0 }
      const session = { hash: 's', userId: 'usr_1', createdAtMs: 1, expiresAtMs: 1e15, openedWith: 'm' }
      await store.putInvitation({ hash: 'i', role: 'operator', accountId: null })
      const changes: [string, (audit: AuditEntry) => Promise<unknown>][] = [
        ['create account', (audit) => store.createAccount(account, audit)],
        ['plan', (audit) => store.setPlan('acc_1', 'pro', [{ ...budget, limit: 5 }], audit)],
        ['pause', (audit) => store.setPaused('acc_1', 'operator', audit)],
        ['credits', (audit) => store.setRemaining('acc_1', [{ ...budget, remaining: 7 }], audit)],
        ['create key', (audit) => store.createKey(key('key_1'), undefined, audit)],
        ['rotate', (audit) => store.rotateKey('key_1', { key: key('key_2'), oldExpiresAtMs: 9 }, audit)],
        ['revoke', (audit) => store.revokeKey('key_2', 5, audit)],
        ['create user', (audit) => store.createUser(user, { audit })],
        ['take invitation', (audit) => store.takeInvitation('i', invited, { audit })],
        [
          'password',
          (audit) => store.setPassword({ userId: 'usr_1', passwordHash: 'n', keptSession: '' }, audit),
        ],
        ['reset', (audit) => store.takePasswordReset({ hash: 'r', passwordHash: 'm' }, audit)],
        ['session', (audit) => store.createSession(session, audit)],
      ]
      const state = async () => ({
        accounts: await store.listAccounts(),
        keys: await store.listKeys(),
        users: await store.listUsers(),
        passwordHash: (await store.findUser(USER.email))?.passwordHash,
        invitation: await store.findInvitation('i'),
        reset: await store.findPasswordReset('r'),
        session: await store.findSession('s'),
        budget: await store.budget(budget),
        audit: (await store.listAudit({ limit: 100 })).map(({ action }) => action),
      })
      for (const [name, change] of changes) {
        if (name === 'reset') await store.putPasswordReset({ hash: 'r', userId: 'usr_1', expiresAtMs: 1e15 })
        const before = await state()
        await assert.rejects(change(unwritable), name)
        assert.deepEqual(await state(), before, `${name}: nothing is written without its entry`)
        await change(entry(name))
        assert.equal((await state()).audit[0], name)
      }
      const { audit } = await state()
      assert.equal(await store.revokeKey('key_2', 6, entry('again')), false)
      assert.equal(await store.takeInvitation('i', invited, { audit: entry('again') }), undefined)
      const late = { ...session, hash: 'late', openedWith: 'n' }
      assert.equal(await store.createSession(late, entry('again')), false)
      assert.deepEqual((await state()).audit, audit, 'what changes nothing leaves no entry')
    }))
}

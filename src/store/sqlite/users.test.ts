import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../kit/clock.ts'
import { ConflictError } from '../accounts.ts'
import { openSqliteAccounts } from './accounts.ts'

async function withFile(run: (file: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-users-'))
  try {
    await run(join(folder, 'accounts.db'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const USER = { email: 'a@example.com', role: 'operator', accountId: 'acc_1', createdAtMs: 1 } as const

test('an e-mail address is taken once, in any case', () =>
  withFile(async (file) => {
    const store = openSqliteAccounts({ file, clock: systemClock })
    await store.createAccount({ id: 'acc_1', email: 'x@y', plan: 'free', billingDay: 1, createdAtMs: 1 })
    await store.createUser({ id: 'usr_1', passwordHash: 'h', ...USER })
    assert.equal((await store.findUser('A@EXAMPLE.com'))?.passwordHash, 'h')
    await assert.rejects(
      store.createUser({ id: 'usr_2', passwordHash: 'h', ...USER, email: 'A@example.com' }),
      ConflictError,
    )
    await store.close()
  }))

test('an invitation is taken once, and a newer one ends it', () =>
  withFile(async (file) => {
    const store = openSqliteAccounts({ file, clock: systemClock })
    await store.putInvitation({ hash: 'one', role: 'operator', accountId: null })
    await store.putInvitation({ hash: 'two', role: 'operator', accountId: null })
    assert.equal(await store.findInvitation('one'), undefined)
    const taken = await Promise.all([store.takeInvitation('two'), store.takeInvitation('two')])
    assert.deepEqual(taken, [true, false])
    await store.close()
  }))

test('sessions end one by one, all but one, and by their time; the audit log reads newest first in pages', () =>
  withFile(async (file) => {
    const store = openSqliteAccounts({ file, clock: systemClock })
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
    await store.pruneSessions(10)
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
    await store.close()
  }))

test('a user has at most 50 sessions: the oldest ends, and nobody else is touched', () =>
  withFile(async (file) => {
    const store = openSqliteAccounts({ file, clock: systemClock })
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
    await store.close()
  }))

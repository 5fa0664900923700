import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { manualClock, systemClock } from '../../kit/clock.ts'
import { type AccountsStore, ConflictError, type NewKey } from '../accounts.ts'
import { openSqliteAccounts } from './accounts.ts'
import { APPLICATION_ID } from './migrate.ts'

async function withFolder(run: (file: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-'))
  try {
    await run(join(folder, 'accounts.db'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function withStore(run: (store: AccountsStore, file: string) => Promise<void>): Promise<void> {
  return withFolder(async (file) => {
    const store = openSqliteAccounts({ file, clock: systemClock })
    try {
      await run(store, file)
    } finally {
      await store.close()
    }
  })
}

const ACCOUNT = { id: 'acc_1', email: 'A@example.com', plan: 'free', billingDay: 31, createdAtMs: 1_000 }
const KEY: NewKey = {
  id: 'key_1',
  accountId: 'acc_1',
  environment: 'test',
  name: 'ci',
  hash: 'abc',
  hint: 'wxyz',
  scopes: ['market'],
  allowedCidrs: ['10.0.0.0/8'],
  creditCap: 5,
  createdAtMs: 2_000,
  expiresAtMs: null,
}

test('what is written is read again, over two connections', async () => {
  await withStore(async (store, file) => {
    const account = await store.createAccount(ACCOUNT)
    assert.deepEqual(account, { ...ACCOUNT, pausedReason: null })
    const key = await store.createKey(KEY)
    const { hash: _, ...rest } = KEY
    assert.deepEqual(key, { ...rest, lastUsedAtMs: null, revokedAtMs: null, replacedBy: null })
    const other = openSqliteAccounts({ file, clock: systemClock })
    assert.deepEqual(await other.findKey('abc'), { key, account })
    assert.equal(await other.findKey('abd'), undefined)
    assert.deepEqual(await other.listKeys('acc_1'), [key])
    assert.deepEqual(await other.listKeys('acc_2'), [])
    await other.close()
  })
})

test('an e-mail address is taken once, in any case; a key needs its account', async () => {
  await withStore(async (store) => {
    await store.createAccount(ACCOUNT)
    const twin = { ...ACCOUNT, id: 'acc_2', email: 'a@EXAMPLE.com' }
    await assert.rejects(store.createAccount(twin), ConflictError)
    await assert.rejects(store.createKey({ ...KEY, accountId: 'acc_9' }), /FOREIGN KEY/)
    await assert.rejects(store.createAccount({ ...twin, email: 'b@example.com', billingDay: 32 }), /CHECK/)
  })
})

test('revoking is for good, and changes of unknown things say so', async () => {
  await withStore(async (store) => {
    await store.createAccount(ACCOUNT)
    await store.createKey(KEY)
    assert.equal(await store.revokeKey('key_1', 5_000), true)
    assert.equal(await store.revokeKey('key_1', 6_000), false)
    assert.equal((await store.getKey('key_1'))?.revokedAtMs, 5_000)
    assert.equal(await store.replaceKey('key_1', { keyId: 'key_2', oldExpiresAtMs: 9_000 }), false)
    assert.equal(await store.revokeKey('key_9', 1), false)
    assert.equal(await store.setPlan('acc_9', 'free', []), false)
    assert.equal(await store.setPaused('acc_9', 'operator'), false)
    assert.equal(await store.setPaused('acc_1', 'operator'), true)
    assert.equal((await store.getAccount('acc_1'))?.pausedReason, 'operator')
  })
})

test('changes by another process are noticed, each once', async () => {
  await withStore(async (store, file) => {
    const seen: string[][] = []
    const unwatch = store.watch({ onAccounts: (ids) => seen.push(ids), onWanted: () => {} })
    const other = openSqliteAccounts({ file, clock: systemClock })
    await other.createAccount(ACCOUNT)
    await other.createKey(KEY)
    await other.setPaused('acc_1', 'operator')
    await new Promise((resolve) => setTimeout(resolve, 400))
    assert.deepEqual(seen.flat(), ['acc_1'])
    await other.setPaused('acc_1', null)
    await new Promise((resolve) => setTimeout(resolve, 400))
    assert.deepEqual(seen.flat(), ['acc_1', 'acc_1'])
    unwatch()
    await other.close()
  })
})

test('the remaining credits are set on top of what was used', async () => {
  await withStore(async (store) => {
    await store.createAccount(ACCOUNT)
    const ref = { id: 'acc_1/test', periodStartMs: 0 }
    const entry = {
      id: 'r1',
      atMs: 10,
      accountId: 'acc_1',
      environment: 'test' as const,
      keyId: 'key_1',
      endpoint: 'GET /x',
      credits: 30,
      rows: 2,
      budgets: [{ ...ref, initialLimit: 100 }],
    }
    const lease = { ...ref, initialLimit: 100, keep: 0, need: 10, release: false }
    const batch = { holder: 'h', nowMs: 10, entries: [entry], counts: [], keysSeen: [], leases: [lease] }
    const [grant] = await store.settle(batch)
    assert.deepEqual([grant?.limit, grant?.used, grant?.granted], [100, 30, 70])
    await store.setRemaining('acc_1', [{ ...ref, remaining: 5 }])
    assert.deepEqual(await store.budget(ref), { limit: 35, used: 30 })
    const [row] = await store.usage({ accountId: 'acc_1', fromMs: 0, toMs: 1_000 })
    assert.deepEqual([row?.day, row?.requests, row?.credits, row?.rows], ['1970-01-01', 1, 30, 2])
    assert.equal(await store.pruneLedger(11), 1)
    assert.equal((await store.usage({ accountId: 'acc_1', fromMs: 0, toMs: 1 })).length, 1, 'usage stays')
  })
})

test('the lease of a process that died is free again after its time', async () => {
  await withStore(async (store) => {
    const ref = { id: 'b', periodStartMs: 0, initialLimit: 100 }
    const lease = { ...ref, keep: 0, need: 60, release: false }
    const ask = (holder: string, nowMs: number) =>
      store.settle({ holder, nowMs, entries: [], counts: [], keysSeen: [], leases: [lease] })
    assert.equal((await ask('dead', 0))[0]?.granted, 100)
    assert.equal((await ask('alive', 2_999))[0]?.granted, 0)
    assert.equal((await ask('alive', 3_000))[0]?.granted, 100)
  })
})

test('an idempotency claim is free again when its holder died, and its answer is kept', async () => {
  const clock = manualClock(0)
  await withFolder(async (file) => {
    const store = openSqliteAccounts({ file, clock })
    const claim = (nowMs: number, bodyHash = 'x') =>
      store.claimIdempotency({
        id: 'i',
        accountId: 'acc_1',
        maxEntries: 10,
        bodyHash,
        nowMs,
        claimedUntilMs: nowMs + 60,
        expiresAtMs: nowMs + 1_000,
      })
    assert.equal((await claim(0)).state, 'fresh')
    assert.equal((await claim(59)).state, 'in_progress')
    assert.equal((await claim(60)).state, 'fresh')
    await store.finishIdempotency('i', { status: 201, headers: [], body: 'b' }, 1_000)
    assert.deepEqual(await claim(200), { state: 'done', reply: { status: 201, headers: [], body: 'b' } })
    assert.equal((await claim(200, 'y')).state, 'other_body')
    await store.releaseIdempotency('i')
    assert.equal((await claim(201)).state, 'done', 'an answer is not released')
    assert.equal((await claim(1_060)).state, 'fresh')
    await store.close()
  })
})

test('what an account keeps for its idempotency keys is bounded in number and bytes, and freed when it expires', async () => {
  await withStore(async (store) => {
    const claim = (id: string, nowMs: number, accountId = 'acc_1') =>
      store.claimIdempotency({
        id,
        accountId,
        maxEntries: 5,
        bodyHash: 'x',
        nowMs,
        claimedUntilMs: nowMs + 60,
        expiresAtMs: nowMs + 1_000,
      })
    const reply = { status: 200, headers: [], body: 'b'.repeat(400) }
    for (let i = 0; i < 4; i++) {
      assert.equal((await claim(`i${i}`, i)).state, 'fresh')
      await store.finishIdempotency(`i${i}`, reply, 1_000)
    }
    assert.deepEqual(await claim('i1', 10), { state: 'done', reply })
    const over = await claim('i2', 10)
    assert.equal(over.state === 'done' && over.reply.omitted, 'quota', 'the third would be above 1,000 bytes')
    assert.equal((await claim('i4', 10)).state, 'fresh')
    assert.equal((await claim('i5', 10)).state, 'full')
    assert.equal((await claim('j0', 10, 'acc_2')).state, 'fresh', 'another account has its own')
    await store.releaseIdempotency('i4')
    assert.equal((await claim('i5', 11)).state, 'fresh', 'what was released counts no more')
    assert.equal((await claim('i6', 1_005)).state, 'fresh', 'nor what has expired')
    await store.finishIdempotency('i6', reply, 1_000)
    assert.deepEqual(await claim('i6', 1_006), { state: 'done', reply })
  })
})

test('a file of a newer release is refused with a sentence that says what to do', async () => {
  await withFolder(async (file) => {
    const newer = new DatabaseSync(file)
    newer.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 99`)
    newer.close()
    assert.throws(
      () => openSqliteAccounts({ file, clock: systemClock }),
      /accounts database has schema version 99.*start that release, or restore a backup/,
    )
  })
})

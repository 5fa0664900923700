/** What every engine must guarantee about accounts, keys, credits, usage and idempotency keys. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { ManualClock } from '../../../test/fakes/manual-clock.ts'
import { DAY_MS } from '../../core/time.ts'
import {
  type AccountsStore,
  ConflictError,
  type HeldClaim,
  type IdempotencyClaim,
  type KeyLimits,
  type NewKey,
} from '../accounts.ts'
import { StoreClosedError } from '../environment.ts'
import { seeded } from './engine.ts'
import { ENGINES, type StoreEngine, withFreshStore } from './engines.ts'

const withAccounts = (
  engine: StoreEngine,
  run: (store: AccountsStore, tools: { clock: ManualClock; again: () => AccountsStore }) => Promise<void>,
) => withFreshStore(engine, (stores) => stores.accounts(), run)

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

function heldOf(id: string, claim: IdempotencyClaim): HeldClaim {
  assert.ok(claim.state === 'fresh', claim.state)
  return { id, claim: claim.claim }
}

for (const engine of ENGINES) {
  test(`${engine.name}: what is written is read again, over two connections`, async () => {
    await withAccounts(engine, async (store, { again }) => {
      const account = await store.createAccount(ACCOUNT)
      assert.deepEqual(account, { ...ACCOUNT, pausedReason: null })
      const key = await store.createKey(KEY)
      const { hash: _, ...rest } = KEY
      assert.deepEqual(key, {
        ...rest,
        lastUsedAtMs: null,
        revokedAtMs: null,
        replacedBy: null,
        capBudgetId: 'key_1',
      })
      const other = again()
      assert.deepEqual(await other.findKey('abc'), { key, account })
      assert.equal(await other.findKey('abd'), undefined)
      assert.deepEqual(await other.listKeys('acc_1'), [key])
      assert.deepEqual(await other.listKeys('acc_2'), [])
    })
  })

  test(`${engine.name}: an e-mail address is taken once, in any case; a key needs its account`, async () => {
    await withAccounts(engine, async (store) => {
      await store.createAccount(ACCOUNT)
      const twin = { ...ACCOUNT, id: 'acc_2', email: 'a@EXAMPLE.com' }
      await assert.rejects(store.createAccount(twin), ConflictError)
      await assert.rejects(store.createKey({ ...KEY, accountId: 'acc_9' }))
      await assert.rejects(store.createAccount({ ...twin, email: 'b@example.com', billingDay: 32 }))
    })
  })

  test(`${engine.name}: an account has no more keys than its limits, over however many connections they are made`, async () => {
    await withAccounts(engine, async (store, { again }) => {
      await store.createAccount(ACCOUNT)
      const stores = [store, again(), again()]
      let made = 0
      const make = (limits: KeyLimits, createdAtMs = 2_000) => {
        const key = { ...KEY, id: `key_${made}`, hash: `hash ${made++}`, createdAtMs }
        return (stores[made % stores.length] ?? store).createKey(key, limits)
      }
      const atOnce = (limits: KeyLimits) => Promise.allSettled(Array.from({ length: 12 }, () => make(limits)))
      const results = await atOnce({ usable: 5, newPerDay: 100 })
      assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 5)
      for (const result of results)
        if (result.status === 'rejected') assert.ok(result.reason instanceof ConflictError, result.reason)
      const [first] = await store.listKeys('acc_1')
      await store.revokeKey(first?.id ?? '', 2_000)
      await assert.rejects(make({ usable: 5, newPerDay: 5 }), /At most 5 keys are made/)
      await make({ usable: 5, newPerDay: 6 })
      await assert.rejects(make({ usable: 5, newPerDay: 100 }), /at most 5 keys/)
      await make({ usable: 6, newPerDay: 1 }, 2_000 + DAY_MS)
    })
  })

  test(`${engine.name}: revoking is final, and changes of unknown accounts and keys report false`, async () => {
    await withAccounts(engine, async (store) => {
      await store.createAccount(ACCOUNT)
      await store.createKey(KEY)
      assert.equal(await store.revokeKey('key_1', 5_000), true)
      assert.equal(await store.revokeKey('key_1', 6_000), false)
      assert.equal((await store.getKey('key_1'))?.revokedAtMs, 5_000)
      const rotation = { key: { ...KEY, id: 'key_2', hash: 'h2' }, oldExpiresAtMs: 9_000 }
      assert.equal(await store.rotateKey('key_1', rotation), undefined)
      assert.equal(await store.rotateKey('key_9', rotation), undefined)
      assert.equal(await store.getKey('key_2'), undefined, 'none is made')
      assert.equal(await store.revokeKey('key_9', 1), false)
      assert.equal(await store.setPlan('acc_9', 'free', []), false)
      assert.equal(await store.setPaused('acc_9', 'operator'), false)
      assert.equal(await store.setPaused('acc_1', 'operator'), true)
      assert.equal((await store.getAccount('acc_1'))?.pausedReason, 'operator')
    })
  })

  test(`${engine.name}: changes by another process are noticed, each once`, async () => {
    await withAccounts(engine, async (store, { clock, again }) => {
      const seen: string[][] = []
      const unwatch = await store.watch({ onAccounts: (ids) => seen.push(ids), onWanted: () => {} })
      const look = async () => {
        clock.advance(1_000)
        await delay(5)
      }
      const noticed = async (count: number) => {
        for (let i = 0; seen.length < count && i < 200; i++) await look()
        assert.equal(seen.length, count)
      }
      const other = again()
      await other.createAccount(ACCOUNT)
      await other.createKey(KEY)
      await noticed(1)
      await other.setPaused('acc_1', 'operator')
      await noticed(2)
      await look()
      assert.deepEqual(seen, [['acc_1'], ['acc_1']])
      unwatch()
    })
  })

  test(`${engine.name}: the remaining credits are set on top of what was used`, async () => {
    await withAccounts(engine, async (store, { clock }) => {
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
        charges: [{ id: 'r1', credits: 30 }],
        budgets: [{ ...ref, initialLimit: 100 }],
      }
      const lease = { ...ref, initialLimit: 100, keep: 0, need: 10, release: false }
      const batch = { holder: 'h', entries: [entry], counts: [], keysSeen: [], leases: [lease] }
      const [grant] = await store.settle(batch)
      assert.deepEqual([grant?.limit, grant?.used, grant?.granted], [100, 30, 70])
      await store.setRemaining('acc_1', [{ ...ref, remaining: 5 }])
      assert.deepEqual(await store.budget(ref), { limit: 35, used: 30 })
      const [row] = await store.usage({ accountId: 'acc_1', fromMs: 0, toMs: 1_000 })
      assert.deepEqual([row?.day, row?.requests, row?.credits, row?.rows], ['1970-01-01', 1, 30, 2])
      clock.set(20)
      assert.equal(await store.pruneLedger(15), 0)
      assert.equal(await store.pruneLedger(9), 1)
      assert.equal((await store.usage({ accountId: 'acc_1', fromMs: 0, toMs: 1 })).length, 1, 'usage stays')
    })
  })

  test(`${engine.name}: what a process leased while the clock was ahead is free a minute after the clock was set back`, async () => {
    await withAccounts(engine, async (store, { clock }) => {
      const lease = { id: 'b', periodStartMs: 0, initialLimit: 100, keep: 0, need: 80, release: false }
      const grantTo = async (holder: string, nowMs: number) => {
        clock.set(nowMs)
        const [grant] = await store.settle({ holder, entries: [], counts: [], keysSeen: [], leases: [lease] })
        return grant?.granted
      }
      assert.equal(await grantTo('dead', 500_000), 100)
      assert.equal(await grantTo('living', 500_000), 0)
      assert.equal(await grantTo('living', 100_000), 0, 'the holder may be alive')
      assert.equal(await grantTo('living', 159_000), 0)
      assert.equal(await grantTo('living', 161_000), 100)
    })
  })

  test(`${engine.name}: the lease of a process that died becomes free when it expires`, async () => {
    await withAccounts(engine, async (store, { clock }) => {
      const ref = { id: 'b', periodStartMs: 0, initialLimit: 100 }
      const lease = { ...ref, keep: 0, need: 60, release: false }
      const ask = (holder: string, nowMs: number) => {
        clock.set(nowMs)
        return store.settle({ holder, entries: [], counts: [], keysSeen: [], leases: [lease] })
      }
      assert.equal((await ask('dead', 0))[0]?.granted, 100)
      assert.equal((await ask('alive', 2_999))[0]?.granted, 0)
      assert.equal((await ask('alive', 3_000))[0]?.granted, 100)
    })
  })

  test(`${engine.name}: an idempotency claim becomes free when its holder dies, and its answer is stored`, async () => {
    await withAccounts(engine, async (store, { clock }) => {
      const claim = (nowMs: number, bodyHash = 'x') => {
        clock.set(nowMs)
        const entry = { id: 'i', accountId: 'acc_1', maxEntries: 10, bodyHash }
        return store.claimIdempotency({ ...entry, claimMs: 60, rememberedMs: 1_000 })
      }
      assert.equal((await claim(0)).state, 'fresh')
      assert.equal((await claim(59)).state, 'in_progress')
      await store.finishIdempotency(
        heldOf('i', await claim(60)),
        { status: 201, headers: [], body: 'b' },
        1_000,
      )
      assert.deepEqual(await claim(200), { state: 'done', reply: { status: 201, headers: [], body: 'b' } })
      assert.equal((await claim(200, 'y')).state, 'other_body')
      assert.equal((await claim(201)).state, 'done')
      assert.equal((await claim(1_060)).state, 'fresh')
    })
  })

  test(`${engine.name}: a claim that is extended does not run out, and one of before extends nothing`, async () => {
    await withAccounts(engine, async (store, { clock }) => {
      const claim = (nowMs: number) => {
        clock.set(nowMs)
        const entry = { id: 'i', accountId: 'acc_1', maxEntries: 10, bodyHash: 'x' }
        return store.claimIdempotency({ ...entry, claimMs: 60, rememberedMs: 1_000 })
      }
      const first = heldOf('i', await claim(0))
      clock.set(40)
      await store.extendIdempotency(first, 60)
      assert.equal((await claim(99)).state, 'in_progress')
      const second = heldOf('i', await claim(100))
      await store.extendIdempotency(first, 600)
      assert.equal((await claim(159)).state, 'in_progress')
      const third = heldOf('i', await claim(160))
      assert.equal(new Set([first.claim, second.claim, third.claim]).size, 3)
    })
  })

  test(`${engine.name}: a request whose claim has run out ends neither the claim nor the answer of the next one`, async () => {
    await withAccounts(engine, async (store, { clock }) => {
      const claim = (nowMs: number) => {
        clock.set(nowMs)
        const entry = { id: 'i', accountId: 'acc_1', maxEntries: 10, bodyHash: 'x' }
        return store.claimIdempotency({ ...entry, claimMs: 60, rememberedMs: 1_000 })
      }
      const reply = (body: string) => ({ status: 201, headers: [], body })
      const slow = heldOf('i', await claim(0))
      const next = heldOf('i', await claim(60))
      await store.releaseIdempotency(slow)
      assert.equal((await claim(61)).state, 'in_progress', 'the next one still has it')
      await store.finishIdempotency(slow, reply('slow'), 1_000)
      assert.equal((await claim(62)).state, 'in_progress')
      await store.releaseIdempotency(next)
      const third = heldOf('i', await claim(63))
      await store.finishIdempotency(next, reply('next'), 1_000)
      await store.finishIdempotency(third, reply('third'), 1_000)
      await store.finishIdempotency(slow, reply('slow'), 1_000)
      await store.releaseIdempotency(third)
      assert.deepEqual(await claim(64), { state: 'done', reply: reply('third') }, 'an answer is not released')
      assert.equal(new Set([slow.claim, next.claim, third.claim]).size, 3)
    })
  })

  test(`${engine.name}: the idempotency entries of an account are bounded in number and bytes, and freed when they expire`, async () => {
    await withAccounts(engine, async (store, { clock }) => {
      const claim = (id: string, nowMs: number, accountId = 'acc_1') => {
        clock.set(nowMs)
        const entry = { id, accountId, maxEntries: 5, bodyHash: 'x' }
        return store.claimIdempotency({ ...entry, claimMs: 60, rememberedMs: 1_000 })
      }
      const reply = { status: 200, headers: [], body: 'b'.repeat(400) }
      for (let i = 0; i < 4; i++) {
        await store.finishIdempotency(heldOf(`i${i}`, await claim(`i${i}`, i)), reply, 1_000)
      }
      assert.deepEqual(await claim('i1', 10), { state: 'done', reply })
      const over = await claim('i2', 10)
      assert.equal(
        over.state === 'done' && over.reply.omitted,
        'quota',
        'the third would be above 1,000 bytes',
      )
      const fifth = heldOf('i4', await claim('i4', 10))
      assert.equal((await claim('i5', 10)).state, 'full')
      assert.equal((await claim('j0', 10, 'acc_2')).state, 'fresh', 'another account has its own')
      await store.releaseIdempotency(fifth)
      assert.equal((await claim('i5', 11)).state, 'fresh', 'what was released counts no more')
      // Expired entries do not count either.
      await store.finishIdempotency(heldOf('i6', await claim('i6', 1_005)), reply, 1_000)
      assert.deepEqual(await claim('i6', 1_006), { state: 'done', reply })
    })
  })

  test(`${engine.name}: credits are shared: one process gets all, several get half of what is free each, an idle one gets none`, async () => {
    await withAccounts(engine, async (store) => {
      const ref = { id: 'b', periodStartMs: 0, initialLimit: 100 }
      const settle = (holder: string, lease: { keep: number; need: number; release: boolean }) =>
        store.settle({ holder, entries: [], counts: [], keysSeen: [], leases: [{ ...ref, ...lease }] })
      const [sole] = await settle('one', { keep: 0, need: 0, release: false })
      assert.equal(sole?.granted, 100)
      const [refused] = await settle('two', { keep: 0, need: 10, release: false })
      assert.deepEqual([refused?.granted, refused?.heldByOthers], [0, 100])
      const [yielding] = await settle('one', { keep: 0, need: 0, release: false })
      assert.deepEqual([yielding?.granted, yielding?.wantedByOthers], [0, true], 'another one waits')
      const [half] = await settle('two', { keep: 0, need: 10, release: false })
      assert.equal(half?.granted, 50)
      const [released] = await settle('two', { keep: 50, need: 0, release: true })
      assert.equal(released?.granted, 0)
      assert.equal((await settle('one', { keep: 0, need: 60, release: false }))[0]?.granted, 100)
    })
  })

  test(`${engine.name}: a charge counts once however often it is written, and refusals are counted without credits`, async () => {
    await withAccounts(engine, async (store) => {
      await store.createAccount(ACCOUNT)
      await store.createKey(KEY)
      const who = { accountId: 'acc_1', environment: 'test' as const, keyId: 'key_1', endpoint: 'GET /x' }
      const budgets = [{ id: 'acc_1/test', periodStartMs: 0, initialLimit: 100 }]
      const entry = (id: string, credits: readonly number[]) => ({
        ...{ id, atMs: 10, ...who, rows: credits.length, budgets },
        credits: credits.reduce((sum, each) => sum + each, 0),
        charges: credits.map((each, place) => ({ id: `${id}.${place}`, credits: each })),
      })
      const entries = [entry('r1', [3]), entry('r2', [2, 1])]
      const counts = [{ atMs: 10, ...who, requests: 1, failed: 2, rateLimited: 3 }]
      const batch = { holder: 'h', entries, keysSeen: [{ keyId: 'key_1', atMs: 10 }], leases: [] }
      await store.settle({ ...batch, counts })
      await store.settle({ ...batch, counts: [] })
      assert.deepEqual(await store.budget({ id: 'acc_1/test', periodStartMs: 0 }), { limit: 100, used: 6 })
      assert.deepEqual(await store.usage({ accountId: 'acc_1', environment: 'test', fromMs: 0, toMs: 99 }), [
        {
          day: '1970-01-01',
          environment: 'test',
          endpoint: 'GET /x',
          keyId: 'key_1',
          requests: 4,
          credits: 6,
          rows: 3,
          failed: 2,
          rateLimited: 3,
        },
      ])
      assert.deepEqual(
        await store.usage({ accountId: 'acc_1', environment: 'live', fromMs: 0, toMs: 99 }),
        [],
      )
      assert.equal((await store.getKey('key_1'))?.lastUsedAtMs, 10)
      const more = ['GET /y', 'GET /z'].map((endpoint) => ({ ...counts[0], endpoint }) as (typeof counts)[0])
      await store.settle({ ...batch, counts: more })
      const newest = await store.usage({ accountId: 'acc_1', fromMs: 0, toMs: 99, newest: 2 })
      assert.deepEqual(
        newest.map(({ endpoint }) => endpoint),
        ['GET /y', 'GET /z'],
      )
      const [before] = newest
      const rest = await store.usage({
        accountId: 'acc_1',
        fromMs: 0,
        toMs: 99,
        newest: 2,
        ...(before && { before }),
      })
      assert.deepEqual(
        rest.map(({ endpoint }) => endpoint),
        ['GET /x'],
      )
    })
  })

  test(`${engine.name}: charges that three processes write at the same time, each in its own order, count once`, async () => {
    await withAccounts(engine, async (store, { again }) => {
      const random = seeded(5)
      const budgets = [...'abcdefgh'].map((id) => ({ id, periodStartMs: 0, initialLimit: 1_000_000 }))
      const entries = Array.from({ length: 120 }, (_, index) => ({
        id: `r${index}`,
        atMs: 10,
        accountId: 'acc_1',
        environment: 'test' as const,
        keyId: 'key_1',
        endpoint: `GET /${index % 3}`,
        credits: 1,
        rows: 0,
        charges: [{ id: `r${index}`, credits: 1 }],
        budgets: random.shuffle(budgets),
      }))
      const spend = async (holder: string, from: AccountsStore) => {
        for (let round = 0; round < 10; round++) {
          const leases = random.shuffle(budgets).map((ref) => ({ ...ref, keep: 0, need: 1, release: false }))
          const batch = { holder, counts: [], keysSeen: [], leases }
          await from.settle({
            ...batch,
            entries: round % 5 === 0 ? random.shuffle(entries).slice(0, 100) : [],
          })
        }
        await from.settle({ holder, counts: [], keysSeen: [], leases: [], entries })
      }
      await Promise.all([store, again(), again()].map((from, index) => spend(`h${index}`, from)))
      for (const { initialLimit, ...ref } of budgets)
        assert.deepEqual(await store.budget(ref), { limit: initialLimit, used: 120 })
      const rows = await store.usage({ accountId: 'acc_1', fromMs: 0, toMs: 99 })
      assert.deepEqual(
        rows.map(({ requests, credits }) => [requests, credits]),
        [
          [40, 40],
          [40, 40],
          [40, 40],
        ],
      )
    })
  })

  test(`${engine.name}: leases of processes that ask at the same time are never more than there is`, async () => {
    await withAccounts(engine, async (store, { again }) => {
      const stores = [store, again(), again()]
      const held = stores.map(() => 0)
      const ref = { id: 'b', periodStartMs: 0, initialLimit: 100 }
      const ask = async (from: AccountsStore, place: number) => {
        const random = seeded(place)
        for (let round = 0; round < 15; round++) {
          const keep = random.below((held[place] ?? 0) + 1)
          held[place] = keep
          const lease = { ...ref, keep, need: random.below(30), release: false }
          const batch = { holder: `h${place}`, entries: [], counts: [], keysSeen: [], leases: [lease] }
          held[place] = (await from.settle(batch))[0]?.granted ?? 0
          const sum = held.reduce((total, amount) => total + amount, 0)
          assert.ok(sum <= 100, `${sum} of 100 are leased`)
        }
      }
      await Promise.all(stores.map(ask))
    })
  })

  test(`${engine.name}: a plan changes the limit of the running period; a rotation names the new key`, async () => {
    await withAccounts(engine, async (store) => {
      await store.createAccount(ACCOUNT)
      await store.createKey(KEY)
      const ref = { id: 'acc_1/test', periodStartMs: 0 }
      const leases = [{ ...ref, initialLimit: 100, keep: 0, need: 0, release: false }]
      await store.settle({ holder: 'h', entries: [], counts: [], keysSeen: [], leases })
      assert.equal(await store.setPlan('acc_1', 'business', [{ ...ref, limit: 900 }]), true)
      assert.equal((await store.listAccounts())[0]?.plan, 'business')
      assert.equal((await store.budget(ref))?.limit, 900)
      assert.equal(await store.budget({ ...ref, periodStartMs: 1 }), undefined)
      const next = { ...ref, periodStartMs: 2 }
      await store.setPlan('acc_1', 'free', [{ ...next, limit: 50 }])
      const late = { ...next, initialLimit: 900, keep: 0, need: 0, release: false }
      await store.settle({ holder: 'h', entries: [], counts: [], keysSeen: [], leases: [late] })
      assert.equal(
        (await store.budget(next))?.limit,
        50,
        'a charge of the plan before does not bring it back',
      )
      const rotation = { key: { ...KEY, id: 'key_2', hash: 'h2' }, oldExpiresAtMs: 9_000 }
      await assert.rejects(
        store.rotateKey('key_1', { ...rotation, limits: { usable: 0, newPerDay: 9 } }),
        ConflictError,
      )
      assert.equal((await store.getKey('key_1'))?.replacedBy, null, 'both or none')
      assert.equal((await store.rotateKey('key_1', rotation))?.id, 'key_2')
      assert.equal((await store.findKey('h2'))?.key.id, 'key_2')
      const key = await store.getKey('key_1')
      assert.deepEqual([key?.replacedBy, key?.expiresAtMs], ['key_2', 9_000])
      const again = { key: { ...KEY, id: 'key_3', hash: 'h3' }, oldExpiresAtMs: 9_500 }
      assert.equal(await store.rotateKey('key_1', again), undefined, 'it has one successor')
      assert.equal(await store.getKey('key_3'), undefined)
    })
  })

  test(`${engine.name}: keys that were rotated share the budget of the first one's cap`, async () => {
    await withAccounts(engine, async (store) => {
      await store.createAccount(ACCOUNT)
      const capOf = (key: { capBudgetId: string } | undefined) => key?.capBudgetId
      const made = (id: string, creditCap: number | null) => ({
        ...KEY,
        id,
        hash: `hash of ${id}`,
        creditCap,
      })
      const first = await store.createKey(made('key_1', 50))
      await store.createKey(made('key_other', 50))
      const second = await store.rotateKey('key_1', { key: made('key_2', 50), oldExpiresAtMs: 9_000 })
      const third = await store.rotateKey('key_2', { key: made('key_3', 50), oldExpiresAtMs: 9_000 })
      assert.deepEqual([first, second, third].map(capOf), ['key_1', 'key_1', 'key_1'])
      assert.equal(capOf((await store.findKey('hash of key_3'))?.key), 'key_1')
      assert.deepEqual((await store.listKeys('acc_1')).map(capOf).sort(), [
        'key_1',
        'key_1',
        'key_1',
        'key_other',
      ])
    })
  })

  test(`${engine.name}: the keys of hundreds of rotations share a budget, and are listed at once`, async () => {
    await withAccounts(engine, async (store) => {
      await store.createAccount(ACCOUNT)
      await store.createKey({ ...KEY, id: 'key_0', hash: 'h0' })
      for (let n = 1; n <= 300; n++) {
        const key = { ...KEY, id: `key_${n}`, hash: `h${n}` }
        await store.rotateKey(`key_${n - 1}`, { key, oldExpiresAtMs: 9_000 })
      }
      const startedMs = performance.now()
      const keys = await store.listKeys('acc_1')
      const newest = await store.findKey('h300')
      const ends = await Promise.all(['key_0', 'key_150', 'key_300'].map((id) => store.newestKeyOf(id)))
      // This takes milliseconds; the limit allows for a busy machine. Walking the chain of each key would take longer.
      assert.ok(performance.now() - startedMs < 5_000)
      assert.equal(keys.length, 301)
      assert.deepEqual(new Set(keys.map(({ capBudgetId }) => capBudgetId)), new Set(['key_0']))
      assert.equal(newest?.key.capBudgetId, 'key_0')
      assert.deepEqual(ends, new Array(3).fill(newest?.key), 'each leads to the newest one')
      await store.createKey({ ...KEY, id: 'key_other', hash: 'other' })
      assert.equal((await store.newestKeyOf('key_other'))?.id, 'key_other')
      assert.equal(await store.newestKeyOf('key_none'), undefined)
      await store.revokeKey('key_300', 5_000)
      assert.equal((await store.newestKeyOf('key_0'))?.revokedAtMs, 5_000, 'also where it has ended')
    })
  })

  test(`${engine.name}: views per day are bounded, and start from zero the next day`, async () => {
    await withAccounts(engine, async (store) => {
      const view = { accountId: 'acc_1', day: '2026-03-14', credits: 6, limit: 10 }
      assert.deepEqual(await store.takeView(view), { taken: true, used: 6 })
      assert.deepEqual(await store.takeView(view), { taken: false, used: 6 })
      assert.equal(await store.viewsOf('acc_1', '2026-03-14'), 6)
      assert.equal(await store.viewsOf('acc_1', '2026-03-15'), 0)
      assert.deepEqual(await store.takeView({ ...view, day: '2026-03-15' }), { taken: true, used: 6 })
    })
  })

  test(`${engine.name}: a closed store refuses reads`, async () => {
    await withAccounts(engine, async (store) => {
      await store.probe()
      await store.close()
      await assert.rejects(store.getAccount('acc_1'), StoreClosedError)
      await assert.rejects(store.setPaused('acc_1', null), StoreClosedError)
    })
  })
}

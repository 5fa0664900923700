import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LeaseStore } from '../leases.ts'
import { ENGINES, withFreshStore } from './engines.ts'

const DURATION_MS = 10_000
const take = (store: LeaseStore, holder: string) =>
  store.take({ part: 'index/live', holder, durationMs: DURATION_MS })

for (const engine of ENGINES) {
  const withLeases = (
    run: (
      store: LeaseStore,
      tools: { clock: { set(ms: number): void; now(): number }; again: () => LeaseStore },
    ) => Promise<void>,
  ) => withFreshStore(engine, (stores) => stores.leases(), run)

  test(`${engine.name}: one process leads a part until its lease is over, and every leader has a term of its own`, () =>
    withLeases(async (a, { clock, again }) => {
      const b = again()
      clock.set(1_000)
      assert.deepEqual(await take(a, 'a'), { part: 'index/live', term: 1 })
      assert.equal(await take(b, 'b'), undefined)
      assert.equal(await take(a, 'a'), undefined)
      clock.set(10_999)
      assert.equal(await take(b, 'b'), undefined)
      clock.set(11_000)
      assert.deepEqual(await take(b, 'b'), { part: 'index/live', term: 2 })
      assert.deepEqual(await a.list(), [{ part: 'index/live', holder: 'b', term: 2, leftMs: DURATION_MS }])
    }))

  test(`${engine.name}: a renewed lease goes on, a lost one cannot be renewed or released`, () =>
    withLeases(async (a, { clock, again }) => {
      const b = again()
      clock.set(1_000)
      const first = await take(a, 'a')
      assert.ok(first !== undefined)
      clock.set(9_000)
      assert.equal(await a.renew(first, DURATION_MS), true)
      clock.set(18_999)
      assert.equal(await take(b, 'b'), undefined)
      clock.set(19_000)
      const second = await take(b, 'b')
      assert.equal(second?.term, 2)
      assert.equal(await a.renew(first, DURATION_MS), false)
      await a.release(first)
      assert.equal(await take(a, 'a'), undefined)
    }))

  test(`${engine.name}: a released lease can be taken at once`, () =>
    withLeases(async (a, { clock, again }) => {
      const b = again()
      clock.set(1_000)
      const first = await take(a, 'a')
      assert.ok(first !== undefined)
      await a.release(first)
      assert.equal((await a.list())[0]?.leftMs, 0)
      assert.equal((await take(b, 'b'))?.term, 2)
    }))

  test(`${engine.name}: a renewal that arrives after the release of its lease does not bring it back`, () =>
    withLeases(async (a, { clock, again }) => {
      const b = again()
      clock.set(1_000)
      const first = await take(a, 'a')
      assert.ok(first !== undefined)
      await a.release(first)
      assert.equal(await a.renew(first, DURATION_MS), false)
      assert.equal((await take(b, 'b'))?.term, 2)
    }))

  test(`${engine.name}: of many that ask at once exactly one leads`, () =>
    withLeases(async (a, { clock, again }) => {
      clock.set(1_000)
      const stores = [a, ...Array.from({ length: 7 }, again)]
      // Several parts, because the processes meet only by chance.
      for (let round = 0; round < 20; round++) {
        const part = `record:${round}/live`
        const taken = await Promise.all(
          stores.map((store, index) => store.take({ part, holder: `p${index}`, durationMs: DURATION_MS })),
        )
        assert.equal(taken.filter((fence) => fence !== undefined).length, 1)
      }
    }))

  test(`${engine.name}: a lease that was written under a clock far ahead is not waited for`, () =>
    withLeases(async (a, { clock, again }) => {
      const b = again()
      clock.set(1_000_000)
      await take(a, 'a')
      clock.set(500_000)
      assert.equal((await take(b, 'b'))?.term, 2)
    }))
}

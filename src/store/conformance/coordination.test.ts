/** What every engine must guarantee about shared counts, attempts, secrets and heartbeats. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ManualClock } from '../../../test/fakes/manual-clock.ts'
import type { CoordinationStore } from '../coordination.ts'
import { HOLDER_MS } from '../shared-counts.ts'
import { ENGINES, withFreshStore } from './engines.ts'

const START = 1_000_000
const WINDOW_MS = 60_000

const countOf = (name: string, count: number, windowStartMs = START) => ({
  ...{ name, windowStartMs, count },
  validMs: 5_000,
})

for (const engine of ENGINES) {
  const withCoordination = (
    run: (
      store: CoordinationStore,
      tools: { clock: ManualClock; again: () => CoordinationStore },
    ) => Promise<void>,
  ) =>
    withFreshStore(
      engine,
      (stores) => stores.coordination(),
      async (store, tools) => {
        tools.clock.set(START)
        await run(store, tools)
      },
    )

  test(`${engine.name}: a process gets the sums of all others, by name and window, and never its own`, () =>
    withCoordination(async (a, { again }) => {
      const [b, c] = [again(), again()]
      assert.deepEqual(await a.exchangeCounts({ holder: 'a', counts: [countOf('x', 3), countOf('y', 1)] }), {
        others: [0, 0],
        processes: 1,
        nowMs: START,
      })
      await b.exchangeCounts({ holder: 'b', counts: [countOf('x', 4), countOf('x', 9, START - 1_000)] })
      const third = await c.exchangeCounts({
        holder: 'c',
        counts: [countOf('y', 0), countOf('x', 10), countOf('x', 0, START - 1_000), countOf('z', 1)],
      })
      assert.deepEqual([third.others, third.processes], [[1, 7, 9, 0], 3])
      // A new count replaces the previous one and is not added to it.
      await b.exchangeCounts({ holder: 'b', counts: [countOf('x', 5)] })
      const next = await a.exchangeCounts({ holder: 'a', counts: [countOf('x', 3)] })
      assert.deepEqual(next.others, [15])
      assert.deepEqual((await a.exchangeCounts({ holder: 'a', counts: [] })).others, [])
    }))

  test(`${engine.name}: what a process that died has counted ends with its time, and so does its share`, () =>
    withCoordination(async (a, { clock, again }) => {
      const b = again()
      await b.exchangeCounts({ holder: 'b', counts: [countOf('x', 4)] })
      const at = async (ms: number) => {
        clock.set(START + ms)
        const { others, processes } = await a.exchangeCounts({ holder: 'a', counts: [countOf('x', 1)] })
        return [others[0], processes]
      }
      assert.deepEqual(await at(HOLDER_MS - 1), [4, 2])
      assert.deepEqual(await at(HOLDER_MS), [4, 1])
      assert.deepEqual(await at(4_999), [4, 1])
      assert.deepEqual(await at(5_000), [0, 1])
    }))

  test(`${engine.name}: processes that exchange at the same time miss nothing that was written before`, () =>
    withCoordination(async (a, { again }) => {
      const stores = [a, again(), again(), again()]
      const names = Array.from({ length: 50 }, (_, index) => `n${index}`)
      const exchange = (store: CoordinationStore, place: number, order: readonly string[]) =>
        store.exchangeCounts({ holder: `h${place}`, counts: order.map((name) => countOf(name, place + 1)) })
      await Promise.all(
        stores.map((store, place) => exchange(store, place, place % 2 ? names : names.toReversed())),
      )
      const seen = await Promise.all(stores.map((store, place) => exchange(store, place, names)))
      for (const [place, { others, processes }] of seen.entries()) {
        assert.deepEqual([others[0], others[49], processes], [9 - place, 9 - place, 4])
      }
    }))

  test(`${engine.name}: attempts are counted by name over all processes, in a window that begins with the first`, () =>
    withCoordination(async (a, { clock, again }) => {
      const b = again()
      assert.deepEqual(await a.addAttempts(['mail', 'address'], WINDOW_MS), [
        { before: 0, leftMs: WINDOW_MS },
        { before: 0, leftMs: WINDOW_MS },
      ])
      clock.advance(10_000)
      assert.deepEqual(await b.addAttempts(['address', 'other'], WINDOW_MS), [
        { before: 1, leftMs: WINDOW_MS - 10_000 },
        { before: 0, leftMs: WINDOW_MS },
      ])
      await a.takeBackAttempts(['address', 'unknown'])
      assert.equal((await b.addAttempts(['address'], WINDOW_MS))[0]?.before, 1)
      await b.forgetAttempts(['address'])
      assert.equal((await a.addAttempts(['address'], WINDOW_MS))[0]?.before, 0)
      clock.set(START + WINDOW_MS - 1)
      assert.equal((await a.addAttempts(['mail'], WINDOW_MS))[0]?.before, 1)
      clock.set(START + WINDOW_MS)
      assert.deepEqual(await a.addAttempts(['mail'], WINDOW_MS), [{ before: 0, leftMs: WINDOW_MS }])
      clock.set(START)
      assert.equal((await a.addAttempts(['mail'], WINDOW_MS))[0]?.before, 0, 'the clock was set back')
      await a.addAttempts(['long'], 10 * WINDOW_MS)
      await a.addAttempts(['mail'], WINDOW_MS)
      assert.equal((await a.addAttempts(['long'], 10 * WINDOW_MS))[0]?.before, 1, 'another window is shorter')
    }))

  test(`${engine.name}: attempts at the same time are all counted`, () =>
    withCoordination(async (a, { again }) => {
      const stores = [a, again(), again()]
      const added = await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          stores[index % 3]?.addAttempts(index % 2 ? ['m', 'a'] : ['a', 'm'], WINDOW_MS),
        ),
      )
      const before = added.map((counts, index) => counts?.[index % 2]?.before ?? -1)
      assert.deepEqual(
        before.sort((x, y) => x - y),
        Array.from({ length: 30 }, (_, index) => index),
      )
    }))

  test(`${engine.name}: the first process decides about a secret, also when several propose one at once`, () =>
    withCoordination(async (a, { again }) => {
      const stores = [a, again(), again()]
      const got = await Promise.all(
        stores.map((store, index) => store.sharedSecret('cursor', `sealed ${index}`)),
      )
      assert.equal(new Set(got).size, 1)
      assert.equal(await again().sharedSecret('cursor', 'sealed later'), got[0])
      assert.equal(await a.sharedSecret('webhook', 'other'), 'other')
    }))

  test(`${engine.name}: the last heartbeat of every part is read by all, with its age`, () =>
    withCoordination(async (a, { clock, again }) => {
      const b = again()
      await a.putHeartbeat({ part: 'index/live', text: '{"n":1}' })
      await a.putHeartbeat({ part: 'deliver', text: '{}' })
      clock.advance(2_000)
      await a.putHeartbeat({ part: 'index/live', text: '{"n":2}' })
      clock.advance(500)
      assert.deepEqual(await b.listHeartbeats(), [
        { part: 'deliver', text: '{}', ageMs: 2_500 },
        { part: 'index/live', text: '{"n":2}', ageMs: 500 },
      ])
      await b.removeHeartbeat('deliver')
      assert.deepEqual(
        (await a.listHeartbeats()).map(({ part }) => part),
        ['index/live'],
      )
    }))
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../test/fakes/manual-clock.ts'
import { storesIn } from '../../test/fakes/stores.ts'
import { systemClock } from '../kit/clock.ts'
import { useTurnTime } from '../kit/turns.ts'
import { appendEvents, event } from '../store/conformance/chain-engine.ts'
import type { StoredEvent } from '../store/events.ts'
import { createEventTail } from './publish.ts'

test('every listener gets the same events, once, in order, from the end of the log on', async () => {
  const database = storesIn(':memory:').chain('test')
  await appendEvents(database.chain, [event('old')])
  const tail = await createEventTail({ clock: systemClock, store: database.events })
  assert.equal(tail.seq, 1)
  const got: StoredEvent[][] = [[], []]
  const stops = got.map((list) => tail.listen((events) => list.push(...events)))
  for (let i = 0; i < 30; i++) {
    const count = 1 + ((i * 37) % 90)
    tail.announce(
      await appendEvents(
        database.chain,
        Array.from({ length: count }, () => event(`k${i}`)),
      ),
    )
    if (i % 3 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  const { newestSeq } = await database.events.bounds()
  while (tail.seq < newestSeq) await new Promise((resolve) => setImmediate(resolve))
  const [first = [], second = []] = got
  assert.deepEqual(
    first.map(({ seq }) => seq),
    Array.from({ length: newestSeq - 1 }, (_, i) => i + 2),
  )
  assert.equal(first.length, second.length)
  for (const [i, one] of first.entries()) assert.ok(one === second[i], 'the same object for everybody')
  stops[0]?.()
  tail.announce(await appendEvents(database.chain, [event('last')]))
  while (tail.seq <= newestSeq) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([first.length, second.length], [newestSeq - 1, newestSeq])
  await tail.close()
  await database.close()
})

test('while the log cannot be read it is retried at a constant rate, however many events are announced', async () => {
  const database = storesIn(':memory:').chain('test')
  let tries = 0
  let isBroken = true
  const clock = manualClock(0)
  const tail = await createEventTail({
    clock,
    store: {
      ...database.events,
      after: (question) => {
        tries += 1
        return isBroken ? Promise.reject(new Error('disk I/O error')) : database.events.after(question)
      },
    },
  })
  tail.listen(() => {})
  const newest = await appendEvents(database.chain, [event('a'), event('b')])
  for (let i = 0; i < 100; i++) {
    tail.announce(newest)
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
    clock.advance(6)
  }
  assert.ok(tries >= 2 && tries <= 4, `${tries} tries in 0.6 s`)
  isBroken = false
  clock.advance(250)
  while (tail.seq < newest) await new Promise((resolve) => setImmediate(resolve))
  await tail.close()
  await database.close()
})

test('without listeners the log is not read; a later listener gets the events from then on', async () => {
  const database = storesIn(':memory:').chain('test')
  let reads = 0
  const tail = await createEventTail({
    clock: systemClock,
    store: {
      ...database.events,
      after: (query) => {
        reads += 1
        return database.events.after(query)
      },
    },
  })
  let isIdle = true
  const got: StoredEvent[] = []
  const places: number[] = []
  tail.listen((events) => got.push(...events), { isIdle: () => isIdle })
  tail.listen(() => places.push(tail.seq), { isIdle: () => true })
  for (const kind of ['a', 'b']) tail.announce(await appendEvents(database.chain, [event(kind), event(kind)]))
  assert.deepEqual([tail.seq, reads, got.length, places], [4, 0, 0, [2, 4]])
  assert.equal(tail.isIdle, true)
  isIdle = false
  assert.equal(tail.isIdle, false)
  tail.announce(await appendEvents(database.chain, [event('c'), event('d')]))
  while (tail.seq < 6) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(
    got.map(({ seq, kind }) => [seq, kind]),
    [
      [5, 'c'],
      [6, 'd'],
    ],
  )
  await tail.close()
  await database.close()
})

test('what the log drops is missed only where it was not read before', async () => {
  const database = storesIn(':memory:').chain('test')
  let oldestSeq = 1
  let firstSeq = 1
  const tail = await createEventTail({
    clock: systemClock,
    store: {
      after: async (query) => {
        const page = await database.events.after(query)
        return { ...page, events: page.events.filter(({ seq }) => seq >= firstSeq) }
      },
      bounds: async () => ({ ...(await database.events.bounds()), oldestSeq }),
    },
  })
  const got: number[] = []
  const missed: [number, number][] = []
  tail.listen((events) => got.push(...events.map(({ seq }) => seq)), {
    onMissed: (afterSeq, upToSeq) => missed.push([afterSeq, upToSeq]),
  })
  const grow = async () => {
    const newest = await appendEvents(database.chain, [event('a'), event('b'), event('c')])
    tail.announce(newest)
    while (tail.seq < newest) await new Promise((resolve) => setImmediate(resolve))
  }
  // The log drops events first after the read, then before it.
  oldestSeq = 3
  await grow()
  assert.deepEqual([got, missed], [[1, 2, 3], []])
  oldestSeq = 6
  firstSeq = 6
  await grow()
  assert.deepEqual([got, missed], [[1, 2, 3, 6], [[3, 5]]])
  await tail.close()
  await database.close()
})

test('a burst of events goes to the listeners in turns of the loop; who joins in between gets the rest', async (t) => {
  const database = storesIn(':memory:').chain('test')
  const tail = await createEventTail({ clock: systemClock, store: database.events })
  let timeMs = 0
  t.after(useTurnTime(() => timeMs))
  let turn = 0
  let counting = setImmediate(function count() {
    turn++
    counting = setImmediate(count)
  })
  const got: { readonly seq: number; readonly turn: number }[] = []
  const joined: { readonly after: number; readonly seqs: number[] } = { after: 40, seqs: [] }
  tail.listen((events) => {
    // As if each event went to many sockets.
    timeMs += events.length
    got.push(...events.map(({ seq }) => ({ seq, turn })))
    assert.equal(tail.seq, events.at(-1)?.seq)
  })
  const newest = await appendEvents(
    database.chain,
    Array.from({ length: 200 }, () => event('k')),
  )
  tail.announce(newest)
  while (tail.seq < joined.after) await new Promise((resolve) => setImmediate(resolve))
  const from = tail.seq
  tail.listen((events) => joined.seqs.push(...events.map(({ seq }) => seq)))
  while (tail.seq < newest) await new Promise((resolve) => setImmediate(resolve))
  clearImmediate(counting)
  assert.deepEqual(
    got.map(({ seq }) => seq),
    Array.from({ length: newest }, (_, at) => at + 1),
  )
  assert.ok(from < newest)
  assert.deepEqual(
    joined.seqs,
    Array.from({ length: newest - from }, (_, at) => from + 1 + at),
  )
  const perTurn = Map.groupBy(got, (one) => one.turn)
  assert.ok(Math.max(...[...perTurn.values()].map(({ length }) => length)) <= 32, `${perTurn.size} turns`)
  await tail.close()
  await database.close()
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { address, appendEvents, type ChainEngine, event, NOW, readAll } from './chain-engine.ts'

/** What every engine's event log must guarantee. */
export function eventLogSuite(engine: ChainEngine, rounds: number): void {
  test(`${engine.name}: events are numbered once, in order, and survive a restart`, async () => {
    const open = await engine.open()
    assert.deepEqual(await open.events.bounds(), { oldestSeq: 1, newestSeq: 0, bytes: 0 })
    assert.equal(await appendEvents(open.chain, [event('a'), event('b', [address(1)])]), 2)
    assert.equal(await appendEvents(open.chain, [event('c')]), 3)
    const { chain, events } = await open.reopen()
    assert.equal(await appendEvents(chain, [event('d')]), 4)
    const all = await readAll(events)
    assert.deepEqual(
      all.map(({ seq, kind }) => [seq, kind]),
      [
        [1, 'a'],
        [2, 'b'],
        [3, 'c'],
        [4, 'd'],
      ],
    )
    assert.equal(new Set(all.map(({ id }) => id)).size, 4)
    for (const stored of all) {
      const read = JSON.parse(stored.text) as { id: string; seq: number; kind: string }
      assert.deepEqual([read.id, read.seq, read.kind], [stored.id, stored.seq, stored.kind])
      assert.match(stored.id, /^evt_[0-9a-z]+$/)
      assert.deepEqual(await events.byId(stored.id), stored)
    }
    assert.equal(await events.byId('evt_nothing'), undefined)
    await open.remove()
  })

  test(`${engine.name}: a filtered read returns what checking every event would, whatever the page size`, async () => {
    const open = await engine.open()
    let state = 7
    const pick = (below: number) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      return Math.floor((state / 2 ** 32) * below)
    }
    const kinds = ['a', 'b', 'c', 'd']
    for (let i = 0; i < 40; i++) {
      const batch = Array.from({ length: pick(120) }, () =>
        event(
          kinds[pick(4)] ?? 'a',
          Array.from({ length: pick(3) }, () => address(pick(90))),
          1_000 + i,
        ),
      )
      if (batch.length > 0) await appendEvents(open.chain, batch)
    }
    const { events } = open
    const all = await readAll(events, { limit: 1_000 })
    assert.ok(all.length > 500)
    for (let round = 0; round < rounds; round++) {
      const filters = Array.from({ length: 1 + pick(3) }, () => ({
        kinds: kinds.filter(() => pick(2) === 0),
        ...(pick(2) === 0 ? {} : { addresses: Array.from({ length: pick(90) }, () => address(pick(100))) }),
      }))
      const afterSeq = pick(all.length)
      const untilSeq = afterSeq + pick(all.length)
      const found = await readAll(events, { filters, afterSeq, untilSeq, limit: 1 + pick(50) })
      const expected = all.filter(
        (stored) =>
          stored.seq > afterSeq &&
          stored.seq <= untilSeq &&
          filters.some(
            (filter) =>
              filter.kinds.includes(stored.kind) &&
              (filter.addresses === undefined ||
                stored.addresses.some((one) => filter.addresses?.includes(one))),
          ),
      )
      assert.deepEqual(
        found.map(({ seq }) => seq),
        expected.map(({ seq }) => seq),
      )
    }
    await open.remove()
  })

  test(`${engine.name}: a page is bounded by bytes, and gives at least one event`, async () => {
    const open = await engine.open()
    await appendEvents(
      open.chain,
      [1, 2, 3].map(() => event('a', [], 1, 'x'.repeat(1_000))),
    )
    const page = await open.events.after({ afterSeq: 0, limit: 10, maxBytes: 100 })
    assert.deepEqual([page.events.length, page.upToSeq, page.more], [1, 1, true])
    assert.equal((await readAll(open.events, { maxBytes: 2_500 })).length, 3)
    await open.remove()
  })

  test(`${engine.name}: old events are deleted by age and by size; numbers are never reused`, async () => {
    const open = await engine.open()
    const { chain, events } = open
    for (let i = 0; i < 30; i++)
      await appendEvents(chain, [event('a', [address(i)], i * 1_000, 'x'.repeat(100))])
    const size = (await events.bounds()).bytes
    assert.equal(await events.seqBefore(10_000), 10)
    while ((await events.retain({ maxAgeMs: NOW - 10_000, maxBytes: size })).more);
    assert.equal((await events.bounds()).oldestSeq, 11)
    const half = Math.floor((await events.bounds()).bytes / 2)
    while ((await events.retain({ maxAgeMs: NOW, maxBytes: half })).more);
    const after = await events.bounds()
    assert.ok(after.bytes <= half && after.bytes > 0)
    assert.equal((await readAll(events, { filters: [{ kinds: ['a'], addresses: [address(0)] }] })).length, 0)
    assert.equal(
      (await readAll(events)).reduce((sum, stored) => sum + stored.text.length, 0),
      after.bytes,
    )
    while ((await events.retain({ maxAgeMs: 0, maxBytes: 1e9 })).more);
    assert.deepEqual(await events.bounds(), { oldestSeq: 31, newestSeq: 30, bytes: 0 })
    assert.equal(await appendEvents(chain, [event('b')]), 31)
    assert.equal(await events.seqBefore(0), 0)
    await open.remove()
  })

  test(`${engine.name}: the place of a time is right although the clock was ahead for a while`, async () => {
    const open = await engine.open()
    const times: number[] = []
    const writeFrom = async (fromMs: number, count: number) => {
      const list = Array.from({ length: count }, (_, i) => fromMs + i * 10)
      times.push(...list)
      await appendEvents(
        open.chain,
        list.map((atMs) => event('a', [], atMs)),
      )
    }
    await writeFrom(1_000_000, 600)
    await writeFrom(4_600_000, 600)
    for (let minute = 1; minute <= 70; minute++) await writeFrom(1_000_000 + minute * 60_000, 25)
    const seqBefore = (timeMs: number) => {
      const atMs = Math.max(...times.filter((each) => each < timeMs))
      return times.lastIndexOf(atMs) + 1
    }
    for (let timeMs = 1_000_001; timeMs < 5_300_000; timeMs += 15_055)
      assert.equal(await open.events.seqBefore(timeMs), seqBefore(timeMs), `${timeMs}`)
    assert.equal(await open.events.seqBefore(1_000_000), 0)
    await open.remove()
  })

  test(`${engine.name}: events with a time in the future are deleted with the first right one after them`, async () => {
    const open = await engine.open()
    const { chain, events } = open
    const writeAt = (count: number, atMs: number) =>
      appendEvents(
        chain,
        Array.from({ length: count }, () => event('a', [address(1)], atMs)),
      )
    await writeAt(2_500, NOW + 1e9)
    const retain = async (maxAgeMs: number) => {
      while ((await events.retain({ maxAgeMs, maxBytes: 1e9 })).more);
      return (await events.bounds()).oldestSeq
    }
    assert.equal(await retain(5_000), 1, 'none after them is right')
    await writeAt(200, NOW - 10_000)
    await writeAt(400, NOW - 1_000)
    assert.equal(await retain(20_000), 1)
    const oldest = await retain(5_000)
    assert.ok(oldest > 2_500 && oldest <= 2_701, `${oldest}`)
    await open.remove()
  })

  test(`${engine.name}: a log keeps its name; numbers may be skipped and are never reused`, async () => {
    const open = await engine.open()
    const other = await engine.open()
    const name = await open.events.logId()
    assert.notEqual(await other.events.logId(), name)
    await open.events.numberAbove(500)
    assert.deepEqual(await open.events.bounds(), { oldestSeq: 501, newestSeq: 500, bytes: 0 })
    assert.equal(await appendEvents(open.chain, [event('a', [], 1_000), event('a', [], 2_000)]), 502)
    await open.events.numberAbove(400)
    await open.events.numberAbove(900)
    assert.equal((await open.events.bounds()).newestSeq, 900)
    const { chain, events } = await open.reopen()
    assert.equal(await events.logId(), name)
    assert.equal(await appendEvents(chain, [event('a', [], 3_000), event('b', [], 4_000)]), 902)
    assert.deepEqual(
      (await readAll(events, { filters: [{ kinds: ['a'] }] })).map(({ seq }) => seq),
      [501, 502, 901],
    )
    const before = await Promise.all([1_000, 1_500, 2_500, 3_500, 9_000].map((ms) => events.seqBefore(ms)))
    assert.deepEqual([before[0], before[1], before[3], before[4]], [0, 501, 901, 902])
    assert.ok((before[2] ?? 0) >= 502 && (before[2] ?? 0) < 901, 'a place that no event has is as good')
    await open.remove()
    await other.remove()
  })

  test(`${engine.name}: an old event is found by its id, by its time and by its address like a new one`, async () => {
    const open = await engine.open()
    const { chain, events } = open
    const count = 2_000
    for (let n = 0; n < count; n += 50) {
      const list = Array.from({ length: 50 }, (_, i) =>
        event((n + i) % 500 === 0 ? 'rare' : 'usual', [address((n + i) % 100)], (n + i) * 10),
      )
      await appendEvents(chain, list)
    }
    const all = await readAll(events, { limit: 500 })
    assert.deepEqual(
      all.map(({ seq }) => seq),
      Array.from({ length: count }, (_, i) => i + 1),
    )
    for (const stored of all.filter(({ seq }) => seq % 97 === 1 || seq % 64 === 1)) {
      assert.deepEqual(await events.byId(stored.id), stored)
      assert.equal(await events.seqBefore(stored.createdAtMs), stored.seq - 1)
      assert.equal(await events.seqBefore(stored.createdAtMs + 1), stored.seq)
    }
    const seqs = async (filter: { kinds: string[]; addresses?: string[] }) =>
      (await readAll(events, { filters: [filter] })).map(({ seq }) => seq)
    assert.deepEqual(await seqs({ kinds: ['rare'] }), [1, 501, 1_001, 1_501])
    assert.equal((await seqs({ kinds: ['usual'], addresses: [address(7)] })).length, count / 100)
    assert.deepEqual(await seqs({ kinds: ['rare'], addresses: [address(7)] }), [])
    const { bytes } = await events.bounds()
    assert.equal(
      bytes,
      all.reduce((sum, { text }) => sum + text.length, 0),
    )
    while ((await events.retain({ maxAgeMs: NOW, maxBytes: bytes / 4 })).more);
    const bounds = await events.bounds()
    assert.ok(bounds.bytes <= bytes / 4 && bounds.bytes > bytes / 5)
    assert.deepEqual(
      (await readAll(events)).map(({ seq }) => seq),
      all.map(({ seq }) => seq).filter((seq) => seq >= bounds.oldestSeq),
    )
    assert.equal(await events.byId(all[0]?.id ?? ''), undefined)
    while ((await events.retain({ maxAgeMs: 0, maxBytes: 1e9 })).more);
    assert.deepEqual(await events.bounds(), { oldestSeq: count + 1, newestSeq: count, bytes: 0 })
    await open.remove()
  })
}

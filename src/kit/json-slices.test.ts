import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countTurns } from '../../test/fakes/count-turns.ts'
import { watchTurns } from '../../test/fakes/loop-hold.ts'
import { elementsOf, hasList, nestedElementsOf, sliceMembers } from './json-slices.ts'
import { nextTurn } from './time-slices.ts'
import { useTurnTime } from './turns.ts'

async function elements(value: unknown, member: string, indent?: number): Promise<unknown[]> {
  const found: unknown[] = []
  const bytes = Buffer.from(JSON.stringify(value, null, indent))
  for await (const text of elementsOf(bytes, member)) found.push(JSON.parse(text))
  return found
}

test('every element of the named list is returned, whatever surrounds it', async () => {
  const list = [1, 'a,]"\\', { x: [1, { y: '}' }], entries: [9] }, [], {}, null, true]
  for (const indent of [undefined, 1]) {
    assert.deepEqual(
      await elements({ other: { entries: [7] }, s: '"entries":[', entries: list, z: 1 }, 'entries', indent),
      list,
    )
    assert.deepEqual(await elements({ entries: [] }, 'entries', indent), [])
  }
  assert.deepEqual(await elements({ entries: 5 }, 'entries'), [])
  assert.deepEqual(await elements({}, 'entries'), [])
})

test('a text that is little but white space ends at the first thousands of it', async () => {
  const padded = (blanks: number) =>
    Buffer.from(`{${' '.repeat(blanks)}"entries":[1,${' '.repeat(blanks)}2]}`)
  const readAll = async (bytes: Buffer) => {
    const found: string[] = []
    for await (const text of elementsOf(bytes, 'entries')) found.push(text)
    return found
  }
  assert.deepEqual([...(sliceMembers(padded(4_000), 5)?.keys() ?? [])], ['entries'])
  assert.deepEqual(await readAll(padded(4_000)), ['1', '2'])
  assert.equal(sliceMembers(padded(5_000), 5), undefined)
  assert.deepEqual(await readAll(padded(5_000)), [])
  assert.deepEqual(await readAll(Buffer.from(`{"entries":[1,${' '.repeat(5_000)}2]}`)), ['1'])
})

test('a list of a hundred thousand blocks the loop no longer than a few milliseconds at a time', async () => {
  const bytes = Buffer.from(
    JSON.stringify({ entries: Array.from({ length: 100_000 }, (_, i) => ({ i, text: 'x'.repeat(200) })) }),
  )
  let turns = 0
  let running = true
  const watch = () => {
    turns++
    if (running) setImmediate(watch)
  }
  setImmediate(watch)
  const startedAt = process.cpuUsage()
  let count = 0
  for await (const _ of elementsOf(bytes, 'entries')) count++
  running = false
  // Measured in CPU time, because on a busy machine the wall clock includes other processes.
  const { user, system } = process.cpuUsage(startedAt)
  const tookMs = (user + system) / 1000
  assert.equal(count, 100_000)
  assert.ok(turns > tookMs / 20, `${turns} turns of the loop in ${tookMs} ms`)
})

test('of many readers at the same time one goes on in each turn of the loop', async () => {
  const bytes = Buffer.from(JSON.stringify({ entries: Array.from({ length: 20_000 }, (_, n) => ({ n })) }))
  const usedMs = () => process.threadCpuUsage().user / 1_000
  const read = async () => {
    // Stands for the work that a caller does with an element.
    for await (const text of elementsOf(bytes, 'entries')) JSON.parse(text)
  }
  let held = Number.POSITIVE_INFINITY
  for (let round = 0; round < 3 && held > 20; round++) {
    const readers = Array.from({ length: 30 }, read)
    // Lets all of them begin in the same turn.
    await nextTurn()
    const stop = watchTurns()
    const startedMs = usedMs()
    await Promise.all(readers)
    held = Math.min(held, stop())
    assert.ok(usedMs() - startedMs > 40, 'they take long together')
  }
  assert.ok(held <= 20, `the loop was held for ${held} ms`)
})

test('a list is told from a missing member and from other values', async () => {
  const isListed = (text: string) => hasList(Buffer.from(text), 'entries')
  for (const text of ['{"entries":[]}', ' { "a" : {"entries":5} , "entries" : [ 1 ] } '])
    assert.equal(await isListed(text), true, text)
  for (const text of ['{}', 'null', '[]', '{"entries":null}', '{"entries":{}}', '{"a":{"entries":[]}}'])
    assert.equal(await isListed(text), false, text)
})

async function nested(value: unknown, indent?: number): Promise<unknown[]> {
  const found: unknown[] = []
  const bytes = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value, null, indent))
  for await (const { list, text } of nestedElementsOf(bytes, 'entries', ['in', 'out']))
    found.push([list, JSON.parse(text)])
  return found
}

test('lists within the elements are walked in the order of the text, whatever surrounds them', async () => {
  const entries = [
    { a: 'x,]}', in: [1, { in: [7], y: '"]' }], z: [{ in: [8] }], out: [[]] },
    {},
    { out: [], in: 5, '"in': [9] },
    { in: [] },
    { out: ['last'] },
  ]
  const expected = [
    ['in', 1],
    ['in', { in: [7], y: '"]' }],
    ['out', []],
    ['in', 5],
    ['out', 'last'],
  ]
  for (const indent of [undefined, 1]) {
    assert.deepEqual(await nested({ other: { entries: [{ in: [7] }] }, entries, z: 1 }, indent), expected)
    assert.deepEqual(await nested({ entries: [] }, indent), [])
  }
  for (const broken of [
    '',
    '{',
    '{"entries":[{"in":[1',
    '{"entries":[{"in":[1,',
    '{"entries":[{"in":',
    '{"entries":[{"in"',
  ])
    assert.ok((await nested(broken)).length <= 1, broken)
  assert.deepEqual(await nested({ entries: [5, { in: [1] }] }), [])
})

test('an element of ten megabytes and slow work on each of its parts do not hold the loop', async () => {
  const parts = Array.from({ length: 40 }, () => ({ payload: 'x'.repeat(240_000) }))
  const bytes = Buffer.from(JSON.stringify({ entries: [{ in: parts, out: [] }] }))
  const usedMs = () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1_000
  }
  const work = () => {
    const startedMs = usedMs()
    while (usedMs() - startedMs < 5);
  }
  let held = Number.POSITIVE_INFINITY
  for (let round = 0; round < 3 && held > 20; round++) {
    const stop = watchTurns()
    for await (const _ of nestedElementsOf(bytes, 'entries', ['in', 'out'])) work()
    held = Math.min(held, stop())
  }
  assert.ok(held <= 20, `the loop was held for ${held} ms`)
})

test('one value of tens of megabytes is scanned in turns of the loop, also before the list', async (t) => {
  let timeMs = 0
  t.after(useTurnTime(() => ++timeMs))
  const long = Array.from({ length: 300_000 }, (_, n) => ({ n, text: 'x'.repeat(40) }))
  const readAll = async (bytes: Buffer) => {
    let chars = 0
    for await (const text of elementsOf(bytes, 'entries')) chars += text.length
    return chars
  }
  const values = { list: long, text: 'x'.repeat(17_000_000), escapes: `${'\\"'.repeat(4_500_000)}` }
  for (const [name, value] of Object.entries(values)) {
    const inside = Buffer.from(JSON.stringify({ entries: [value, 7] }))
    const element = await countTurns(() => readAll(inside))
    assert.equal(element.result, 16 * 1024 * 1024 + 1, 'what no node sends is cut off')
    assert.ok(element.turns > 4, `${name}: ${element.turns} turns of the loop`)
    const before = Buffer.from(JSON.stringify({ other: value, entries: [1, 2] }))
    const found = await countTurns(() => hasList(before, 'entries'))
    assert.equal(found.result, true)
    assert.ok(found.turns > 4, `${name}: ${found.turns} turns of the loop`)
    const nestedIn = Buffer.from(JSON.stringify({ entries: [{ other: value, in: [value] }] }))
    const within = await countTurns(async () => {
      const found: string[] = []
      for await (const { list } of nestedElementsOf(nestedIn, 'entries', ['in'])) found.push(list)
      return found
    })
    assert.deepEqual(within.result, ['in'])
    assert.ok(within.turns > 8, `${name}: ${within.turns} turns of the loop`)
  }
})

test('a long value ends where it ends, wherever the steps of the scan fall', async () => {
  const step = 262_144
  for (let shift = -6; shift <= 6; shift++) {
    const fill = 'x'.repeat(step + shift)
    const list = [`${fill}\\"]}`, { [`${fill}{"`]: [`${fill}\\\\`, '[', []] }, [fill, ['"', {}]], 'end']
    assert.deepEqual(await elements({ entries: list, z: 1 }, 'entries'), list)
  }
  const broken = Buffer.from(`{"entries":["${'x'.repeat(3 * step)}\\`)
  for await (const text of elementsOf(broken, 'entries')) assert.fail(`${text.length} characters`)
})

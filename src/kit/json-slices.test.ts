import assert from 'node:assert/strict'
import { test } from 'node:test'
import { elementsOf } from './json-slices.ts'

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
  // Of the processor: on a busy machine the clock also counts the time of others.
  const { user, system } = process.cpuUsage(startedAt)
  const tookMs = (user + system) / 1000
  assert.equal(count, 100_000)
  assert.ok(turns > tookMs / 20, `${turns} turns of the loop in ${tookMs} ms`)
})

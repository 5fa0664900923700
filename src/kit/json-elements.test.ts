import assert from 'node:assert/strict'
import { test } from 'node:test'
import { elementsOf } from './json-elements.ts'

async function elements(value: unknown, member: string, indent?: number): Promise<unknown[]> {
  const found: unknown[] = []
  const bytes = Buffer.from(JSON.stringify(value, null, indent))
  for await (const text of elementsOf(bytes, member)) found.push(JSON.parse(text))
  return found
}

test('every element of the named list comes out, whatever stands around it', async () => {
  const list = [1, 'a,]"\\', { x: [1, { y: '}' }], entries: [9] }, [], {}, null, true]
  for (const indent of [undefined, 1]) {
    assert.deepEqual(await elements({ other: { entries: [7] }, s: '"entries":[', entries: list, z: 1 }, 'entries', indent), list)
    assert.deepEqual(await elements({ entries: [] }, 'entries', indent), [])
  }
  assert.deepEqual(await elements({ entries: 5 }, 'entries'), [])
  assert.deepEqual(await elements({}, 'entries'), [])
})

test('a list of a hundred thousand holds the loop no longer than a few milliseconds at a time', async () => {
  const bytes = Buffer.from(JSON.stringify({ entries: Array.from({ length: 100_000 }, (_, i) => ({ i, text: 'x'.repeat(200) })) }))
  let longest = 0
  let last = performance.now()
  let running = true
  const watch = () => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
    if (running) setImmediate(watch)
  }
  setImmediate(watch)
  let count = 0
  for await (const _ of elementsOf(bytes, 'entries')) count++
  running = false
  assert.equal(count, 100_000)
  assert.ok(longest < 50, `held for ${longest} ms`)
})

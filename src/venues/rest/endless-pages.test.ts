/** A venue whose pages never end: every walk is given up after a bounded number of pages and rows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createDeadLetters } from '../dead-letter.ts'
import { createKalshiCatalogue } from '../kalshi/catalogue.ts'
import { createPolymarketCatalogue } from '../polymarket/catalogue.ts'
import type { RestClient, RestRequest } from './rest-client.ts'
import { readRows } from './typed-request.ts'

const NOW = Date.UTC(2026, 3, 16, 4, 59)
const signal = new AbortController().signal

function askerOf(answer: (question: RestRequest, count: number) => unknown) {
  let count = 0
  const client = {
    async request(question: RestRequest) {
      const value = answer(question, count++)
      return { value, text: '…', headers: new Headers(), receivedMs: NOW, roundTripMs: 1 }
    },
  } as unknown as RestClient
  return { asker: { client, deadLetters: createDeadLetters({ venue: 'toy' }) }, asked: () => count }
}

test('a list with the same cursor for ever, with ever new ones, or with a huge one, is given up', async () => {
  for (const [cursorAt, fault, questions] of [
    [() => 'again', /a second time/, 2],
    [(count: number) => `c${count}`, /more than 20 pages/, 20],
    [(count: number) => `${count}${'x'.repeat(5_000)}`, /a cursor of 5001 characters/, 1],
  ] as const) {
    const { asker, asked } = askerOf((_question, count) => ({ markets: [], cursor: cursorAt(count) }))
    await assert.rejects(createKalshiCatalogue(asker).refresh('BTC', NOW, signal), fault)
    assert.equal(asked(), questions)
  }
})

test('a list by offset that always has something new is given up', async () => {
  const { asker, asked } = askerOf((_question, count) => [{ id: `e${count}`, markets: [] }])
  const catalogue = createPolymarketCatalogue({ gamma: asker, clob: asker, data: asker })
  await assert.rejects(catalogue.refresh('BTC', NOW, signal), /more than 200 pages/)
  assert.equal(asked(), 201)
})

test('a page of a hundred thousand rows is refused before any of them is read', async () => {
  const rows = new Array(100_000).fill({})
  const { asker } = askerOf(() => ({ markets: rows, cursor: '' }))
  await assert.rejects(
    createKalshiCatalogue(asker).refresh('BTC', NOW, signal),
    /100000 rows, asked for 1000/,
  )
  let read = 0
  const type = { is: (row: unknown): row is object => ++read > 0 && row !== null }
  const about = { origin: '/x', receivedMs: NOW }
  assert.throws(() => readRows(asker, rows, type as never, about), /an answer of 100000 rows/)
  assert.equal(read, 0)
})

test('a row that is nested too deep to be shown is a dead letter like any other', () => {
  const { asker } = askerOf(() => undefined)
  const deep: unknown = JSON.parse(`${'['.repeat(200_000)}${']'.repeat(200_000)}`)
  const type = { is: (_row: unknown): _row is object => false }
  assert.deepEqual(readRows(asker, [deep], type as never, { origin: '/x', receivedMs: NOW }), [])
  assert.equal(asker.deadLetters.total, 1)
})

test('dead letters keep their beginnings, not the answers that they are from', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const letters = createDeadLetters({ venue: 'toy' })
  collect()
  const before = process.memoryUsage().heapUsed
  for (let index = 0; index < 100; index++) {
    const text = Buffer.alloc(1_000_000, 97 + (index % 26)).toString('latin1')
    letters.add({ receivedMs: index, reason: 'malformed', origin: '/x', text })
  }
  collect()
  const grown = process.memoryUsage().heapUsed - before
  assert.equal(letters.recent().length, 100)
  assert.ok(grown < 20e6, `${(grown / 1e6).toFixed(0)} MB are kept`)
})

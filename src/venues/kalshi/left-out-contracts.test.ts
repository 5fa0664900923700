/** A contract may close before its listed time, and then it is only missing in the lists. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDeadLetters } from '../dead-letter.ts'
import type { RestClient, RestRequest } from '../rest/rest-client.ts'
import { createKalshiCatalogue } from './catalogue.ts'

const OPEN = Date.UTC(2026, 3, 16, 4)
const MINUTE_MS = 60_000
const signal = new AbortController().signal

const contract = (hour: number, more: object = {}) => ({
  ticker: `KXBTCD-26APR160${hour}-T72000`,
  event_ticker: `KXBTCD-26APR160${hour}`,
  open_time: new Date(OPEN + (hour - 1) * 60 * MINUTE_MS).toISOString(),
  close_time: new Date(OPEN + hour * 60 * MINUTE_MS).toISOString(),
  status: 'active',
  result: '',
  ...more,
})

test('a running contract that the lists leave out is asked for by its name, and its earlier close is known', async () => {
  let nowMs = OPEN + 10 * MINUTE_MS
  let listed = [contract(1), contract(2)]
  const closesAt = new Date(nowMs + 15_000).toISOString()
  const asked: string[] = []
  const client = {
    async request({ query = {} }: RestRequest) {
      const isNamed = query.tickers !== undefined
      if (isNamed) asked.push(String(query.tickers))
      const isListed = query.series_ticker === 'KXBTCD' && query.status === 'open'
      const markets = isNamed
        ? [contract(1, { close_time: closesAt, status: 'closed' })]
        : isListed
          ? listed
          : []
      const value = { markets, cursor: '' }
      return { value, text: '…', headers: new Headers(), receivedMs: nowMs, roundTripMs: 1 }
    },
  } as unknown as RestClient
  const catalogue = createKalshiCatalogue({ client, deadLetters: createDeadLetters({ venue: 'toy' }) })
  const { ticker } = contract(1)
  await catalogue.refresh('BTC', nowMs, signal)
  await catalogue.resolve('BTC', nowMs, signal)
  assert.deepEqual(asked, [])
  nowMs += 30_000
  // The second contract opens in an hour; its absence says nothing about books.
  listed = []
  await catalogue.refresh('BTC', nowMs, signal)
  const answered = await catalogue.resolve('BTC', nowMs, signal)
  assert.deepEqual(asked, [ticker])
  assert.deepEqual(
    answered.map(({ market }) => market.marketId),
    [ticker],
  )
  assert.equal(catalogue.get(ticker)?.market.endTime, Date.parse(closesAt))
  assert.equal(catalogue.get(ticker)?.market.status, 'closed')
  assert.ok(!catalogue.wanted('BTC', nowMs).includes(ticker))
  // While an answer is awaited, it is not asked for at every step.
  await catalogue.resolve('BTC', nowMs + 1_000, signal)
  assert.equal(asked.length, 1)
})

/** Books that are polled in turn: a book whose turn does not come is lost. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import type { SessionIo } from '../live/venue-tasks.ts'
import { createContractBook } from './book.ts'
import type { KalshiCatalogue } from './catalogue.ts'
import type { ContractFeed } from './feed.ts'
import type { KalshiRest } from './history.ts'
import { pollBooks } from './poll-books.ts'

const T = Date.UTC(2026, 5, 18, 16)
const ANSWER = { orderbook_fp: { yes_dollars: [['0.40', '10']], no_dollars: [['0.50', '10']] } }

test('a book whose turn does not come is lost a minute after its last answer', async () => {
  const clock = manualClock(T)
  const stop = new AbortController()
  const tickers = ['FIRST', 'SECOND']
  const books = new Map(tickers.map((ticker) => [ticker, createContractBook()]))
  /** From then on the request for the first contract hangs, so that the second contract's turn does not come either. */
  let isHanging = false
  const emitted: { kind: string; instrument: string; sinceMs?: number }[] = []
  const session = {
    signal: stop.signal,
    emit: (_: string, observation: unknown) => emitted.push(observation as (typeof emitted)[number]),
    isPaused: () => false,
  } as unknown as SessionIo
  const rest = {
    client: {
      async request() {
        if (isHanging) await new Promise((_, reject) => stop.signal.addEventListener('abort', reject))
        return { value: ANSWER, receivedMs: clock.now(), roundTripMs: 1 }
      },
    },
    deadLetters: { add() {} },
  } as unknown as KalshiRest
  const feed = {
    symbol: 'BTC',
    followed: new Set(tickers),
    bookOf: (ticker: string) => books.get(ticker),
  } as unknown as ContractFeed
  const catalogue = { get: () => ({ series: { kind: 'hourly' } }) } as unknown as KalshiCatalogue
  const polling = pollBooks(session, feed, { catalogue, rest, clock, isPolling: () => true, symbols: 1 })
  const pass = async (seconds: number) => {
    for (let step = 0; step < seconds * 4; step++) {
      clock.advance(250)
      for (let i = 0; i < 5; i++) await turn()
    }
  }
  await pass(5)
  assert.deepEqual(
    emitted.map(({ kind, instrument }) => [kind, instrument]),
    tickers.map((ticker) => ['book_snapshot', ticker]),
  )
  isHanging = true
  await pass(50)
  assert.equal(emitted.length, 2)
  await pass(10)
  assert.deepEqual(
    emitted.slice(2).map(({ kind, instrument }) => [kind, instrument]),
    tickers.map((ticker) => ['book_lost', ticker]),
  )
  for (const { sinceMs = 0 } of emitted.slice(2))
    assert.ok(sinceMs >= T + 60_000 && sinceMs <= T + 61_000, new Date(sinceMs).toISOString())
  stop.abort()
  await polling
})

test('an answer without a book is none, unless the list has no quotes either', async () => {
  const clock = manualClock(T)
  const stop = new AbortController()
  const emitted: string[] = []
  const session = {
    signal: stop.signal,
    emit: (_: string, { kind }: { kind: string }) => emitted.push(kind),
    isPaused: () => false,
  } as unknown as SessionIo
  let value: object = ANSWER
  const client = { request: async () => ({ value, receivedMs: clock.now(), roundTripMs: 1 }) }
  const rest = { client, deadLetters: { add() {} } } as unknown as KalshiRest
  const book = createContractBook()
  const feed = { symbol: 'BTC', followed: new Set(['KX']), bookOf: () => book } as unknown as ContractFeed
  const contract = { series: { kind: 'quarter_hour' }, top: { bid: 400_000, ask: 500_000 as number | null } }
  const catalogue = { get: () => contract } as unknown as KalshiCatalogue
  const polling = pollBooks(session, feed, { catalogue, rest, clock, isPolling: () => true, symbols: 1 })
  const pollOnce = async () => {
    emitted.length = 0
    for (let step = 0; step < 20; step++) {
      clock.advance(250)
      for (let i = 0; i < 5; i++) await turn()
    }
    return [...new Set(emitted)]
  }
  assert.deepEqual(await pollOnce(), ['book_snapshot'])
  value = { orderbook_fp: {} }
  assert.deepEqual(await pollOnce(), ['book_lost'])
  value = { orderbook_fp: { yes_dollars: [], no_dollars: [] } }
  assert.deepEqual(await pollOnce(), ['book_snapshot'], 'two empty sides are an answer')
  value = { orderbook_fp: {} }
  Object.assign(contract, { top: { bid: null, ask: null } })
  assert.deepEqual(await pollOnce(), ['book_snapshot'])
  stop.abort()
  await polling
})

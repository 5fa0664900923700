/** A loss of frames that the stream does not report may have cost trades too, so their time is a gap until a sweep. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DataObservation } from '../observation.ts'
import { POLYMARKET_TIMES as TIMES } from './describe.ts'
import { TokenFeed } from './feed.ts'

const NOW = Date.UTC(2026, 3, 23, 16)
const TOKEN = '7'
const LEG = {
  ...{ marketId: '0x1', tokenId: TOKEN, outcome: 'Up', symbol: 'BTC' as const },
  ...{ startMs: NOW - 3_600_000, endMs: NOW + 3_600_000 },
}
const about = { market: '0x1', asset_id: TOKEN }
const bookAt = (ms: number) => ({
  ...{ event_type: 'book', ...about, timestamp: String(NOW + ms) },
  ...{ bids: [{ price: '0.4', size: '5' }], asks: [{ price: '0.6', size: '5' }] },
})
const announcedAt = (ms: number) => ({
  ...{ event_type: 'new_market', slug: 'will-it-rain', timestamp: String(NOW + ms) },
})

/** A feed whose token has a book of the time 0. */
function openFeed(leg = LEG) {
  const feed = new TokenFeed('BTC', { send() {}, repair() {}, announced() {}, resolved() {} })
  feed.follow([leg], NOW)
  const reader = feed.openReader()
  feed.greeting(NOW)
  /** What a message yields that arrives some milliseconds later. */
  const read = (message: unknown, ms: number) => {
    const outcome = reader.read(JSON.stringify(message), NOW + ms)
    return outcome.kind === 'data' ? outcome.items : []
  }
  return { feed, reader, read }
}

/** The lost trades among the items, from and to, within the margin between the times of the stream and of a sweep. */
const lostIn = (items: readonly { readonly channel: string; readonly observation: DataObservation }[]) =>
  items.flatMap(({ channel, observation }) => {
    if (observation.kind !== 'trades_lost') return []
    assert.equal(channel, 'trades:BTC')
    return [[observation.fromMs - NOW + 5_000, observation.toMs - NOW - 5_000]]
  })
const reasonsIn = (items: readonly { readonly observation: DataObservation }[]) =>
  items.flatMap(({ observation }) => (observation.kind === 'book_lost' ? [observation.reason] : []))

for (const [name, between] of [
  ['nothing', undefined],
  ['the announcement of another market', announcedAt(10_000)],
  ['an empty list', []],
] as const)
  test(`a socket that sends ${name} for 20 seconds has lost its books and the trades of that time`, () => {
    const { read } = openFeed()
    read(bookAt(1_000), 1_000)
    if (between !== undefined) assert.deepEqual(read(between, 10_000), [])
    const items = read(bookAt(21_000), 21_000)
    assert.deepEqual(reasonsIn(items), ['silence'])
    const [[fromMs, toMs] = []] = lostIn(items)
    assert.equal(fromMs, 1_000)
    assert.ok(Number(toMs) >= 21_000)
  })

test('frames of other markets during a silence are no data, so the socket is cut as silent; with data its trades are lost', () => {
  const { reader, read } = openFeed()
  read(bookAt(1_000), 1_000)
  for (const ms of [10_000, 20_000, 25_000, 29_000])
    assert.equal(reader.read(JSON.stringify(announcedAt(ms)), NOW + ms).kind, 'ignored')
  const items = read([announcedAt(29_500), bookAt(29_500)], 29_500)
  assert.deepEqual(reasonsIn(items), ['silence'])
  assert.equal(items.at(-1)?.observation.kind, 'book_snapshot', 'live again after the loss')
  assert.deepEqual(lostIn(items), [[1_000, 29_500]])
  assert.deepEqual(lostIn(read(bookAt(30_000), 30_000)), [])
})

test('a time in which no token was followed is no silence', () => {
  const { feed, read } = openFeed()
  read(bookAt(1_000), 1_000)
  feed.follow([], NOW + 2_000)
  feed.follow([LEG], NOW + 60_000)
  assert.deepEqual(lostIn(read(bookAt(61_000), 61_000)), [])
})

test('a frozen book has lost the trades since its last frame, and all others until something of it arrives', () => {
  const { feed, read } = openFeed()
  read(bookAt(1_000), 1_000)
  const frozen = feed.lose(TOKEN, 'frozen', NOW + 40_000)
  assert.deepEqual(reasonsIn(frozen), ['frozen'])
  assert.deepEqual(lostIn(frozen), [[1_000, 40_000]])
  assert.deepEqual(lostIn(feed.resubscribe(TOKEN, NOW + 40_000)), [[40_000, 40_000 + TIMES.resubscribeMs]])
  assert.deepEqual(lostIn(feed.resubscribe(TOKEN, NOW + 70_250)), [[40_000, 70_250 + TIMES.resubscribeMs]])
  read(bookAt(80_000), 80_000)
  feed.lose(TOKEN, 'crossed', NOW + 81_000)
  assert.deepEqual(feed.resubscribe(TOKEN, NOW + 120_000), [])
})

test('a window that does not run has no trades to lose while its first book is awaited', () => {
  const startMs = NOW + 600_000
  for (const [leg, nowMs, isLost] of [
    [{ ...LEG, startMs }, NOW + 31_000, false],
    [LEG, NOW + 31_000, true],
    [{ ...LEG, endMs: NOW - 60_000 }, NOW + 31_000, false],
  ] as const)
    assert.equal(openFeed(leg).feed.resubscribe(TOKEN, nowMs).length > 0, isLost)
})

test('a window whose end moves later is followed as one that runs until then', () => {
  const { feed } = openFeed({ ...LEG, endMs: NOW - 120_000 })
  assert.deepEqual(feed.follow([LEG], NOW), [])
  assert.equal(feed.tokens.get(TOKEN)?.book.leg.endMs, LEG.endMs)
  assert.equal(feed.resubscribe(TOKEN, NOW + 31_000).length, 1)
})

test('between two sockets nothing is subscribed again, and the next one is awaited from its beginning', () => {
  const { feed, read } = openFeed()
  read(bookAt(1_000), 1_000)
  feed.disconnect(NOW + 60_000)
  assert.deepEqual(feed.resubscribe(TOKEN, NOW + 61_000), [])
  feed.greeting(NOW + 90_000)
  assert.deepEqual(lostIn(feed.resubscribe(TOKEN, NOW + 121_000)), [[90_000, 121_000 + TIMES.resubscribeMs]])
})

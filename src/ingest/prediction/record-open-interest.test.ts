import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Feed, feedName } from '../../core/feed.ts'
import type { OpenInterestInput } from '../../core/rows/open-interest.ts'
import { aboutOf, mapOpenInterest } from '../../venues/kalshi/mapper.ts'
import { kalshiPlan as plan } from '../../venues/kalshi/plan.ts'
import { feedOf } from '../shared/feeds.ts'
import { catalogueKey, trackedMarketFeeds } from './market-feeds.ts'
import { recordOpenInterest } from './record-open-interest.ts'

const at = (text: string) => Date.parse(`2026-11-15T${text}Z`)
const feed = (interval: '5m' | '15m') => feedName(feedOf('open_interest', plan.source, 'BTC', interval))

function start() {
  const lost: string[] = []
  const put: string[] = []
  const shown: string[] = []
  const limits = new Map<string, number>()
  const time = (ms: number) => new Date(ms).toISOString().slice(11, 23)
  const interest = recordOpenInterest({
    ...{ plan, symbol: 'BTC', startedMs: at('10:01:00') },
    writer: {
      put(of, rows) {
        put.push(`${feedName(of)} ${rows.length}`)
        const figures = rows as readonly OpenInterestInput[]
        if (of.interval === '5m')
          for (const row of figures) shown.push(`${row.marketId ?? 'sum'} ${row.openInterest}`)
      },
    },
    tracker: {
      limit: (of: Feed, toMs) => void limits.set(feedName(of), toMs),
      lost: (of, fromMs, toMs) => void lost.push(`${feedName(of)} ${time(fromMs)} ${time(toMs)}`),
    },
  })
  const received = (contract: string, text: string, openInterest: string, isListed = false) =>
    interest.received({
      ...mapOpenInterest(openInterest, at(text), aboutOf('BTC', contract, at(text))),
      ...(isListed ? { isListed } : {}),
    })
  received('a', '10:01:00', '5')
  received('b', '10:02:00', '7')
  const show = (text: string) => interest.show(at(text), () => ['a', 'b'])
  const listed = (contract: string, text: string, figure: string) => received(contract, text, figure, true)
  const doubted = () => interest.doubted()
  const { missedOf } = interest
  return { show, received, listed, doubted, missedOf, lost, put, shown, limit: () => limits.get(feed('5m')) }
}

test('no grid point is claimed before its rows are put', () => {
  const { show, lost, put, limit } = start()
  assert.equal(limit(), at('10:05:00'))
  show('10:05:04')
  assert.deepEqual([limit(), put], [at('10:05:00'), []])
  show('10:05:05')
  assert.deepEqual([limit(), put], [at('10:10:00'), [`${feed('5m')} 3`]])
  assert.deepEqual(lost, [])
})

test('grid points that passed while the store failed are gaps', () => {
  const { show, lost, put, limit } = start()
  show('10:04:59')
  show('10:21:00')
  assert.deepEqual(
    lost.filter((each) => each.startsWith(feed('5m')) || each.startsWith(feed('15m'))),
    [`${feed('5m')} 10:05:00.000 10:20:00.001`, `${feed('15m')} 10:15:00.000 10:15:00.001`],
  )
  assert.equal(lost.length, 2, 'a longer interval has no grid point there')
  assert.deepEqual([limit(), put], [at('10:25:00'), []])
})

test('a figure of the stream counts until frames may have been missed, then one of a list', () => {
  const { show, received, listed, doubted, lost, shown } = start()
  listed('a', '10:04:50', '4')
  show('10:05:05')
  assert.deepEqual(shown.splice(0), ['sum 12', 'a 5', 'b 7'], 'a list may be older than the stream')
  doubted()
  listed('a', '10:09:40', '6')
  received('b', '10:06:00', '8')
  show('10:10:05')
  assert.deepEqual([shown, lost], [['sum 14', 'a 6', 'b 8'], []])
})

test('figures of one contract that may have been missed leave those of the others', () => {
  const { show, received, missedOf, lost, shown } = start()
  missedOf('a')
  show('10:05:05')
  assert.deepEqual(shown.splice(0), ['b 7'])
  assert.ok(lost.includes(`${feed('5m')} 10:05:00.000 10:05:00.001`))
  received('a', '10:06:00', '6')
  show('10:10:05')
  assert.deepEqual(shown, ['sum 13', 'a 6', 'b 7'])
})

test('a list that is older than a figure of the stream does not replace it, even if frames were missed since', () => {
  const { show, received, listed, doubted, lost, shown } = start()
  listed('a', '10:04:20', '4')
  received('a', '10:04:40', '6')
  show('10:04:59')
  doubted()
  listed('b', '10:04:59', '7')
  show('10:05:05')
  assert.deepEqual([shown, lost], [['sum 13', 'a 6', 'b 7'], []])
})

test('a figure of the stream is outdated where a list that is minutes newer has another', () => {
  const { show, listed, lost, shown } = start()
  show('10:05:05')
  shown.splice(0)
  listed('a', '10:09:50', '6')
  listed('b', '10:09:50', '7.00')
  show('10:10:05')
  assert.deepEqual([shown.splice(0), lost], [['sum 13', 'a 6', 'b 7'], []])
  // Without a newer list, the figure of contract `a` is unknown.
  show('10:15:05')
  assert.deepEqual(shown, ['b 7'])
})

test('a point is a gap, and has no sum, where a contract has neither', () => {
  const { show, received, listed, doubted, lost, put, shown } = start()
  doubted()
  received('b', '10:04:00', '8')
  // Too old at the grid point, or later than it.
  listed('a', '10:04:10', '6')
  listed('a', '10:05:01', '6')
  show('10:05:05')
  assert.deepEqual([shown, lost], [['b 8'], [`${feed('5m')} 10:05:00.000 10:05:00.001`]])
  assert.equal(put.length, 1)
})

test('it is observed only while it is known which contracts there are', () => {
  const tracked = trackedMarketFeeds(plan, 'BTC').filter((each) => each.feed.dataset === 'open_interest')
  assert.ok(tracked.length > 0)
  for (const { channels } of tracked) assert.ok(channels.includes(catalogueKey('BTC')))
})

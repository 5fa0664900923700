/** Pages over two feeds, one with rows all the time and one with few rows that are far apart. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawnSeed } from '../../../test/seeded-random.ts'
import type { Feed } from '../../core/feed.ts'
import { START, seeded, withStore } from './engine.ts'
import { ENGINES } from './engines.ts'
import { environmentEngine } from './environment-engine.ts'

const SEED = drawnSeed()
const TEN_MINUTES = 600_000
const tradeFeed = (source: 'predmkt_a' | 'predmkt_b'): Feed<'trades'> => ({
  ...{ dataset: 'trades', source, symbol: 'BTC', interval: '' },
})

for (const each of ENGINES.filter(({ name }) => name !== 'sqlite on one thread'))
  test(
    `${each.name}: a page over a busy feed and one with few rows far apart ends (seed ${SEED})`,
    {
      timeout: 120_000,
    },
    () =>
      withStore(environmentEngine(each), async (store) => {
        const random = seeded(SEED)
        // More than twice the number of ten-minute groups that PostgreSQL lists at once.
        const count = 2_100 + random.below(300)
        const busy = Array.from({ length: count }, (_, i) => i).filter(() => random.below(20) > 0)
        const quiet = [0, 1 + random.below(20), count - 30 + random.below(20), count + random.below(5)]
        const sources = random.shuffle(['predmkt_a', 'predmkt_b'] as const)
        const times: number[] = []
        for (const [at, spans] of [busy, quiet].entries()) {
          const source = sources[at] ?? 'predmkt_a'
          const rows = spans.map((span) => {
            // No two rows have the same time, so their order does not depend on the source.
            const time = START + span * TEN_MINUTES + 2 * random.below(TEN_MINUTES / 2) + at
            times.push(time)
            const trade = { time, seq: 0, tradeId: `${time}`, price: '0.5', size: 1, side: 'buy' } as const
            return { ...trade, marketId: 'm', ...(source === 'predmkt_a' ? { tokenId: 'm' } : {}) }
          })
          await store.write({ rows: [{ feed: tradeFeed(source), rows }] })
        }
        times.sort((a, b) => a - b)
        const range = { from: START, to: START + 2 * count * TEN_MINUTES }
        for (const order of ['asc', 'desc'] as const) {
          const limit = 1_600 + random.below(800)
          const feeds = sources.map(tradeFeed)
          const { text } = await store.series.page({ feeds, range, order, limit, separator: '\n' })
          const expected = order === 'asc' ? times : times.toReversed()
          assert.deepEqual(
            text.split('\n').map((row) => Number(JSON.parse(row).trade_id)),
            expected.slice(0, limit),
          )
        }
      }),
  )

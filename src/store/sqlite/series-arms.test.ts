import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Arm } from '../order/arms.ts'
import { ENVIRONMENT_MIGRATIONS } from './environment-schema.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'
import { buildArms } from './series-arms.ts'

const arm = (feed: number, rank: number, instrument?: string): Arm => ({ feed, rank, instrument })
const SHAPES: [string, Arm[]][] = [
  ['one feed', [arm(1, 0)]],
  ['one feed per source', [arm(1, 0), arm(2, 1), arm(3, 2), arm(4, 3)]],
  ['several feeds of one source', [arm(1, 3), arm(2, 3), arm(3, 3)]],
  ['one instrument', [arm(1, 3, 'a')]],
  ['several instruments', [arm(1, 3, 'a'), arm(1, 3, 'b')]],
]

test('every usual page merges index ranges while reading: no scan, no sort', () => {
  const database = openDatabase({ file: ':memory:' })
  migrate(database, 'environment', ENVIRONMENT_MIGRATIONS)
  for (const [name, arms] of SHAPES) {
    for (const order of ['asc', 'desc'] as const) {
      for (const position of [
        undefined,
        { ts: 5, source: 'cexa_futures', instrument: 'a', seq: 1 },
      ] as const) {
        const query = {
          arms,
          range: { from: 0, to: 10 },
          order,
          position,
          filters: { side: 'buy', minUsd: 3 },
        }
        const built = buildArms(query, ['ts', 'text'], 100)
        const plan = database
          .prepare(`EXPLAIN QUERY PLAN SELECT group_concat(text, ',') FROM (${built.sql} LIMIT 100)`)
          .all(...built.binds)
          .map((row) => String(row.detail))
        const label = `${name} ${order}: ${plan.join(' / ')}`
        assert.ok(!plan.some((step) => /TEMP B-TREE|SCAN series_rows/.test(step)), label)
        const ranges = plan.filter((step) => /SEARCH series_rows/.test(step))
        assert.equal(ranges.length, arms.length, label)
        for (const range of ranges) assert.match(range, /feed=\?.*ts/, label)
      }
    }
  }
  database.close()
})

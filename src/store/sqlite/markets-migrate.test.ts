import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { encodeMarket, type VenueStatus } from '../../core/rows/market.ts'
import { manualClock } from '../../kit/clock.ts'
import { START } from '../conformance/engine.ts'
import { openSqliteEnvironment } from './environment.ts'
import { ENVIRONMENT_MIGRATIONS } from './environment-schema.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'

const HOUR_MS = 3_600_000

test('a database from before knows which of its markets are resolved, whatever their venue called active', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-markets-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'test.db')
  const database = openDatabase({ file })
  migrate(database, 'environment', ENVIRONMENT_MIGRATIONS.slice(0, 2))
  const put = database.prepare('INSERT INTO markets VALUES (4, ?, ?, ?, ?, ?, ?, ?)')
  const stored: [id: string, status: VenueStatus, active: boolean, endMs: number][] = [
    ['won', 'resolved', true, START - HOUR_MS],
    ['ended', 'open', true, START - HOUR_MS],
    ['runs', 'closed', false, START + HOUR_MS],
  ]
  for (const [marketId, status, active, endTime] of stored) {
    const market = { marketId, source: 'predmkt_b', symbol: 'BTC', status, active, endTime } as const
    const question = 'Is "status":"resolved" a question?'
    const { text } = encodeMarket({ ...market, question, startTime: endTime - HOUR_MS })
    put.run(marketId, 'BTC', '', active ? 1 : 0, endTime - HOUR_MS, endTime, text)
  }
  database.close()
  const store = await openSqliteEnvironment({ file, clock: manualClock(START) })
  t.after(() => store.close())
  const ids = async (state: { active?: boolean; status?: 'resolved' | 'closed' }) => {
    const page = await store.markets.list({ limit: 9, separator: '\n', state: { atMs: START, ...state } })
    return page.text.split('\n').map((line) => (JSON.parse(line) as { market_id: string }).market_id)
  }
  assert.deepEqual(await ids({ status: 'resolved' }), ['won'])
  assert.deepEqual(await ids({ status: 'closed' }), ['ended'])
  assert.deepEqual(await ids({ active: true }), ['runs'])
})

/** The self-check of the oracle over a recording of the simulated chain. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { fileBehind, fixedRandom } from '../../../test/ingest/audited-store.ts'
import { FEW_STRIKES, HEARTBEAT_MS, recordOnce } from '../../../test/predictions/recording.ts'
import { sandboxPredictions } from '../../app/sandbox-venues.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import { createLogger } from '../../kit/log.ts'
import { VENUES } from '../../venues/list.ts'
import { candleFeed } from '../shared/feeds.ts'
import { createRowWriter } from '../shared/write-rows.ts'
import type { AuditDifference } from './audit.ts'
import { auditOracle } from './audit-oracle.ts'

const MINUTE_MS = 60_000
const START_MS = Date.parse('2026-11-15T10:01:00Z')

const made = recordOnce(
  {
    ...{
      startMs: START_MS,
      stepMs: 1_000,
      slotMs: 60_000,
      venues: ['chainlink'],
      ...FEW_STRIKES,
      inFiles: true,
    },
    oracleBackMs: 2 * 60 * MINUTE_MS,
  },
  ({ clock }) => clock.runUntil(START_MS + 4 * MINUTE_MS),
)

async function examine(
  turns: number,
  seed: number,
  /** Called after each difference; true if there is nothing more to find. */
  isDone: () => Promise<boolean> = async () => false,
): Promise<{ checked: number; differences: AuditDifference[] }> {
  const { world, recording } = made
  const { store } = recording
  const clock = manualClock(world.clock.now() + 30 * MINUTE_MS)
  const rows = createRowWriter({
    ...{ store, clock, random: fixedRandom(0), log: createLogger({ level: 'silent' }) },
  })
  const [setting] = sandboxPredictions(world.sandbox).filter(({ name }) => name === 'chainlink')
  assert.ok(setting !== undefined)
  const check = auditOracle({
    ...{ store, rows, clock, random: fixedRandom(seed), symbols: ['BTC'], heartbeatMs: HEARTBEAT_MS },
    venue: VENUES.chainlink.create({ clock: world.clock, ...setting }),
    signal: new AbortController().signal,
  })
  const differences: AuditDifference[] = []
  let checked = 0
  for (let turn = 0; turn < turns; turn++) {
    clock.advance(MINUTE_MS)
    const found = await world.clock.during(check.run())
    if (found === null) continue
    checked += 1
    differences.push(...found)
    if (found.length === 0) continue
    await rows.flush()
    if (await isDone()) break
  }
  await rows.flush()
  await rows.close()
  return { checked, differences }
}

const textAt = async (interval: '5m' | '15m', timeMs: number) => {
  const page = await made.recording.store.series.page({
    feeds: [candleFeed('oracle', 'BTC', interval)],
    ...{ range: { from: timeMs, to: timeMs + 1 }, order: 'asc', limit: 1, separator: '\n' },
  })
  return page.text
}

test('what was recorded correctly has no difference', async () => {
  const { checked, differences } = await examine(15, 1)
  assert.deepEqual(differences, [])
  assert.ok(checked > 10, String(checked))
})

test('candles that were dropped or changed are what the rounds make again', async () => {
  const { behind, idOf } = fileBehind(made.recording.folder)
  const [dropped, changed] = [START_MS - 61 * MINUTE_MS, START_MS - 46 * MINUTE_MS]
  assert.ok(dropped % INTERVAL_MS['15m'] === 0 && changed % INTERVAL_MS['15m'] === 0)
  const before = [await textAt('5m', dropped), await textAt('15m', changed)]
  assert.equal(
    behind(
      'DELETE FROM series_rows WHERE feed = ? AND ts = ?',
      idOf(candleFeed('oracle', 'BTC', '5m')),
      dropped,
    ),
    1,
  )
  behind(
    `UPDATE series_rows SET text = replace(text, '"close":', '"close":1') WHERE feed = ? AND ts = ?`,
    idOf(candleFeed('oracle', 'BTC', '15m')),
    changed,
  )
  assert.notEqual(await textAt('15m', changed), before[1])
  const texts = async () => [await textAt('5m', dropped), await textAt('15m', changed)]
  const isRepaired = async () => (await texts()).join('\n') === before.join('\n')
  const { differences } = await examine(60, 2, isRepaired)
  assert.ok(differences.every(({ action }) => action === 'corrected'))
  assert.deepEqual(await texts(), before)
})

/**
 * The self-checks of the exchanges over recordings of the simulated ones, with real sockets and a store in files. A
 * correct store has no difference; each planted difference is found and becomes a correction or a gap.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type ManualClock, manualClock } from '../../../test/fakes/manual-clock.ts'
import { fileBehind, fixedRandom } from '../../../test/ingest/audited-store.ts'
import { readRows } from '../../../test/ingest/read-feed.ts'
import {
  EXCHANGES,
  type Recording,
  type SandboxVenue,
  startRecording,
  startWorld,
  type World,
} from '../../../test/ingest/recording.ts'
import { type PacedClock, pacedClock } from '../../../test/predictions/paced-clock.ts'
import { type Feed, feedName } from '../../core/feed.ts'
import { INTERVAL_MS } from '../../core/interval.ts'
import { createLogger } from '../../kit/log.ts'
import { VENUES } from '../../venues/list.ts'
import { loadDerivatives } from '../exchange/join-derivatives.ts'
import { noCounts, type SymbolParts } from '../exchange/symbol-parts.ts'
import { candleFeed, feedOf } from '../shared/feeds.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import { createRowWriter, type RowWriter } from '../shared/write-rows.ts'
import type { AuditDifference } from './audit.ts'
import { auditExchange } from './audit-exchange.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const START_MS = Date.parse('2026-11-10T07:52:30Z')
const TODAY_MS = Date.parse('2026-11-10T00:00:00Z')
const YESTERDAY_MS = Date.parse('2026-11-09T00:00:00Z')
const VENUE_NAMES = ['spot', 'futures', 'perp'] as const
/** How many checks of a correct store are run. */
const TURNS = process.env.TAPELINE_SOAK === undefined ? 20 : 45

const folder = mkdtempSync(join(tmpdir(), 'tapeline-audit-'))
let world: World<PacedClock>
let recording: Recording
/** The clock of the self-checks. It runs ahead of the venue's clock, which would take too long to follow. */
let clock: ManualClock
let writer: RowWriter
/** The first of two minutes that are recorded live. */
let liveMs = 0

before(async () => {
  world = await startWorld(pacedClock(START_MS, 500))
  recording = await startRecording(world, { backfill: true, backfillFromMs: YESTERDAY_MS, folder })
  const isUp = () =>
    recording.supervisor
      .status()
      .every(({ detail }) => detail.channels > 0 && detail.channelsUp === detail.channels)
  do await world.clock.runUntil(world.clock.now() + 1_000)
  while (!isUp())
  liveMs = Math.ceil((world.clock.now() + 5_000) / MINUTE_MS) * MINUTE_MS
  await world.clock.runUntil(liveMs + 3 * MINUTE_MS)
  const isFilled = () => recording.supervisor.status().every(({ backfill }) => backfill === 1)
  while (!isFilled()) await world.clock.runUntil(world.clock.now() + 5_000)
  await world.clock.during(recording.stop())
  await world.clock.runUntil(world.clock.now() + 1_000)
  clock = manualClock(world.clock.now() + HOUR_MS)
  const log = createLogger({ level: 'silent' })
  writer = createRowWriter({ store: recording.store, clock, random: fixedRandom(0), log })
})

after(async () => {
  await writer?.close()
  await recording?.close()
  await world?.close()
  rmSync(folder, { recursive: true, force: true })
})

const sourceOf = (venue: SandboxVenue) => EXCHANGES[venue].source

async function partsOf(venue: SandboxVenue): Promise<SymbolParts> {
  const { name, source } = EXCHANGES[venue]
  const { store } = recording
  const { plan, create } = VENUES[name]
  const hosts = { rest: world.sandbox[venue].restUrl, stream: world.sandbox[venue].wsUrl }
  const about = { series: store.series, source, symbol: 'BTC' as const, fromMs: 0 }
  return {
    ...{
      plan,
      symbol: 'BTC',
      series: store.series,
      writer,
      clock,
      random: fixedRandom(0),
      counts: noCounts(),
    },
    venue: create({ clock: world.clock, hosts }),
    tracker: createCoverageTracker({ feeds: [], coverage: store.coverage, writer }),
    derivatives: plan.hasFunding ? await loadDerivatives(about) : undefined,
    signal: new AbortController().signal,
  }
}

/** Runs both checks repeatedly, until a little after the first difference. */
async function examine(venue: SandboxVenue, maxTurns: number, seed = 1) {
  const checks = auditExchange({
    ...{ symbols: [await partsOf(venue)], store: recording.store, random: fixedRandom(seed) },
  })
  const differences: AuditDifference[] = []
  const checked = { coverage: 0, venue: 0 }
  let turns = maxTurns
  for (let turn = 0; turn < turns; turn++) {
    clock.advance(MINUTE_MS)
    for (const check of checks) {
      const found = await world.clock.during(check.run())
      if (found === null) continue
      checked[check.kind as 'coverage' | 'venue'] += 1
      if (differences.length === 0 && found.length > 0) turns = Math.min(turns, turn + 4)
      differences.push(...found)
    }
    await writer.flush()
  }
  return { checked, differences }
}

const { behind, idOf } = fileBehind(folder)

function change(sql: string, ...values: (string | number)[]): void {
  assert.ok(behind(sql, ...values) > 0, sql)
}

const drop = (feed: Feed, timeMs: number) =>
  change('DELETE FROM series_rows WHERE feed = ? AND ts = ?', idOf(feed), timeMs)

/** Doubles one number of a row. */
async function double(feed: Feed, timeMs: number, field: string): Promise<string> {
  const before = await textAt(feed, timeMs)
  const value = Number((JSON.parse(before) as Record<string, number>)[field])
  change(
    'UPDATE series_rows SET text = replace(text, ?, ?) WHERE feed = ? AND ts = ?',
    ...[`"${field}":${value}`, `"${field}":${2 * value}`, idOf(feed), timeMs],
  )
  assert.notEqual(await textAt(feed, timeMs), before)
  return before
}

async function textAt(feed: Feed, timeMs: number): Promise<string> {
  const page = await recording.store.series.page({
    ...{ feeds: [feed], range: { from: timeMs, to: timeMs + 1 }, order: 'asc', limit: 10, separator: '\n' },
  })
  return page.text
}

const isGap = async (feed: Feed, timeMs: number) =>
  (await recording.store.coverage.read([feed], timeMs, timeMs + 1)).gaps.length === 1

const found = (differences: readonly AuditDifference[]) =>
  [
    ...new Set(
      differences.map(({ feed, action }) => `${action} ${feed === undefined ? '' : feedName(feed)}`),
    ),
  ].sort()

for (const venue of VENUE_NAMES) {
  test(`${venue}: what was recorded correctly has no difference`, async () => {
    const { checked, differences } = await examine(venue, TURNS)
    assert.deepEqual(differences, [])
    assert.ok(checked.coverage > TURNS / 3 && checked.venue > TURNS / 4, JSON.stringify(checked))
  })
}

for (const venue of VENUE_NAMES) {
  test(`${venue}: a minute that was dropped comes back, the same bytes`, async () => {
    const feed = candleFeed(sourceOf(venue), 'BTC', '1m')
    const timeMs = TODAY_MS + 3 * HOUR_MS + 17 * MINUTE_MS
    const before = await textAt(feed, timeMs)
    drop(feed, timeMs)
    const { differences } = await examine(venue, 400, 2)
    assert.equal(await textAt(feed, timeMs), before)
    assert.deepEqual(found(differences), [`corrected ${feedName(feed)}`])
  })

  test(`${venue}: a candle that was changed is corrected, with a revision`, async () => {
    const feed = candleFeed(sourceOf(venue), 'BTC', '1h')
    const timeMs = TODAY_MS + 5 * HOUR_MS
    const before = await double(feed, timeMs, 'volume')
    const { differences } = await examine(venue, 400, 3)
    assert.equal(await textAt(feed, timeMs), before)
    assert.deepEqual(found(differences), [`corrected ${feedName(feed)}`])
    const range = { from: timeMs, to: timeMs + 1 }
    assert.equal((await recording.store.series.revisions({ feeds: [feed], range, limit: 5 })).length, 1)
  })
}

test('spot: flow that was changed is corrected, and keeps its counts', async () => {
  const feed = feedOf('flow', 'cexa', 'BTC', '15m')
  const timeMs = TODAY_MS + 4 * HOUR_MS
  const before = await double(feed, timeMs, 'buy_volume')
  const { differences } = await examine('spot', 400, 4)
  assert.equal(await textAt(feed, timeMs), before)
  assert.deepEqual(found(differences), [`corrected ${feedName(feed)}`])
})

for (const venue of ['spot', 'futures'] as const) {
  test(`${venue}: coverage that claims a second without its row gets the row`, async () => {
    const feed = candleFeed(sourceOf(venue), 'BTC', '1s')
    const rows = await readRows(recording.store, feed, { fromMs: liveMs, toMs: liveMs + MINUTE_MS })
    const row = rows.find(({ volume }) => Number(volume) > 0)
    const timeMs = Date.parse(row?.timestamp ?? '')
    const before = await textAt(feed, timeMs)
    drop(feed, timeMs)
    const { differences } = await examine(venue, 400, 5)
    assert.equal(await textAt(feed, timeMs), before)
    assert.deepEqual(found(differences), [`corrected ${feedName(feed)}`])
  })
}

test('perp: trades that are missing are a gap; a second that lacks some is built again', async () => {
  const trades = feedOf('trades', 'perpdex', 'BTC')
  const seconds = candleFeed('perpdex', 'BTC', '1s')
  const range = { fromMs: liveMs, toMs: liveMs + MINUTE_MS }
  const [first, second] = [
    ...new Set(
      (await readRows(recording.store, trades, range)).map(({ timestamp }) => Date.parse(timestamp)),
    ),
  ]
    .map((timeMs) => ({ timeMs, secondMs: Math.floor(timeMs / 1_000) * 1_000 }))
    .filter((each, index, all) => all.findIndex(({ secondMs }) => secondMs === each.secondMs) === index)
  assert.ok(first !== undefined && second !== undefined)
  drop(trades, first.timeMs)
  const before = await double(seconds, second.secondMs, 'volume').then(async (text) => {
    // Less volume than its trades have.
    change(
      'UPDATE series_rows SET text = ? WHERE feed = ? AND ts = ?',
      ...[text.replace(/"volume":[^,]+/, '"volume":0.00001'), idOf(seconds), second.secondMs],
    )
    return text
  })
  const { differences } = await examine('perp', 400, 6)
  assert.deepEqual(found(differences), [`corrected ${feedName(seconds)}`, `gap ${feedName(trades)}`])
  assert.ok(await isGap(trades, first.timeMs))
  assert.equal(await textAt(seconds, second.secondMs), before)
})

test('perp: coverage that claims a minute without any of its trades becomes a gap', async () => {
  const trades = feedOf('trades', 'perpdex', 'BTC')
  const seconds = candleFeed('perpdex', 'BTC', '1s')
  const fromMs = liveMs + MINUTE_MS
  for (const feed of [trades, seconds])
    change(
      'DELETE FROM series_rows WHERE feed = ? AND ts >= ? AND ts < ?',
      ...[idOf(feed), fromMs, fromMs + MINUTE_MS],
    )
  const { differences } = await examine('perp', 400, 7)
  assert.deepEqual(found(differences), [`gap ${feedName(seconds)}`, `gap ${feedName(trades)}`].sort())
  assert.ok((await isGap(trades, fromMs)) && (await isGap(seconds, fromMs)))
})

test('one answer of the venue that differs changes nothing', async () => {
  const feed = candleFeed('cexa', 'BTC', '4h')
  const timeMs = YESTERDAY_MS + 4 * HOUR_MS
  assert.equal(timeMs % INTERVAL_MS['4h'], 0)
  const parts = await partsOf('spot')
  let lies = 1
  const lying: SymbolParts = {
    ...parts,
    venue: {
      ...parts.venue,
      async *history(request, options) {
        for await (const page of parts.venue.history(request, options)) {
          const isLie = request.topic === 'candles' && request.interval === '1m' && lies-- > 0
          const observations = page.observations.map((row) =>
            isLie && row.kind === 'candle' ? { ...row, volume: '1' } : row,
          )
          yield { ...page, observations }
        }
      },
    },
  }
  const before = await textAt(feed, timeMs)
  const checks = auditExchange({ symbols: [lying], store: recording.store, random: fixedRandom(8) })
  for (let turn = 0; turn < 60; turn++) {
    clock.advance(MINUTE_MS)
    for (const check of checks) assert.deepEqual((await world.clock.during(check.run())) ?? [], [], `${turn}`)
    if (turn === 20) lies = 1
  }
  assert.ok(lies <= 0)
  await writer.flush()
  assert.equal(await textAt(feed, timeMs), before)
})

test('rows that contradict each other while the venue does not answer become gaps', async () => {
  const feeds = [candleFeed('cexa', 'BTC', '5m'), candleFeed('cexa', 'BTC', '15m')]
  const timeMs = TODAY_MS + 3 * HOUR_MS
  const [, coarse] = feeds
  assert.ok(coarse !== undefined)
  await double(coarse, timeMs, 'volume')
  const parts = await partsOf('spot')
  const mute: SymbolParts = {
    ...parts,
    venue: {
      ...parts.venue,
      // biome-ignore lint/correctness/useYield: it never answers
      async *history() {
        throw new Error('no answer')
      },
    },
  }
  const [coverage] = auditExchange({ symbols: [mute], store: recording.store, random: fixedRandom(9) })
  const differences: AuditDifference[] = []
  for (let turn = 0; turn < 400 && differences.length === 0; turn++) {
    clock.advance(MINUTE_MS)
    differences.push(...((await coverage?.run().catch(() => null)) ?? []))
  }
  await writer.flush()
  assert.ok(differences.length > 0)
  assert.ok(differences.every(({ action }) => action === 'gap'))
  assert.ok(await isGap(coarse, timeMs))
})

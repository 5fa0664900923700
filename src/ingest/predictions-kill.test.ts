/** A recorder of prediction markets that is killed again and again: what it stored is true, what it missed it says. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { readGaps } from '../../test/ingest/compare.ts'
import { sharedClock, until } from '../../test/ingest/recording.ts'
import {
  compareCatalogue,
  compareOracle,
  comparePrints,
  compareWindow,
} from '../../test/predictions/compare.ts'
import { startPredictionsWorld } from '../../test/predictions/recording.ts'
import type { TrueMarket } from '../sandbox/predictions/truth.ts'
import type { EnvironmentStore } from '../store/environment.ts'
import { openSqliteEnvironment } from '../store/sqlite/environment.ts'
import { candleFeed, feedOf } from './plans.ts'

const MINUTE_MS = 60_000
const isLong = process.env.TAPELINE_SOAK !== undefined
const KILLS = isLong ? 20 : 3
const FACTOR = 30
/** Markets of five and fifteen minutes end at a quarter past. */
const START_MS = Date.parse('2026-11-15T10:12:30Z')
const QUARTER_MS = Date.parse('2026-11-15T10:15:00Z')
/** Winners are known and prints are swept so long after the end. */
const DONE_AFTER_MS = 3 * MINUTE_MS
const PROCESS = join(import.meta.dirname, '../../test/predictions/record-process.ts')

const base = { startMs: START_MS, factor: FACTOR, originMs: Date.now() }
let world: Awaited<ReturnType<typeof startPredictionsWorld>>
let store: EnvironmentStore
let folder: string
let range = { fromMs: 0, toMs: 0 }
let ended: TrueMarket[] = []
let running: TrueMarket[] = []

function startRecorder(): ChildProcess {
  const { polymarket, kalshi, ethereum, controlUrl } = world.sandbox
  const sandbox = { polymarket, kalshi, ethereum, controlUrl }
  const options = JSON.stringify({ sandbox, timeBase: base, folder })
  return spawn(process.execPath, [PROCESS, options], { stdio: ['ignore', 'pipe', 'inherit'] })
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapeline-kill-'))
  base.originMs = Date.now()
  world = await startPredictionsWorld(sharedClock(base), { slotMs: 1_000 })
  const { clock } = world
  let random = 4711
  for (let kill = 0; kill < KILLS; kill++) {
    const recorder = startRecorder()
    if (recorder.stdout !== null) await once(recorder.stdout, 'data')
    if (kill === 0) range = { fromMs: clock.now() + 20_000, toMs: 0 }
    random = (random * 1_103_515_245 + 12_345) % 2 ** 31
    await wait(900 + (random % 1_000))
    recorder.kill('SIGKILL')
    await once(recorder, 'exit')
  }
  const recorder = startRecorder()
  if (recorder.stdout !== null) await once(recorder.stdout, 'data')
  const toMs = Math.max(QUARTER_MS + DONE_AFTER_MS, clock.now() + DONE_AFTER_MS)
  range = { ...range, toMs }
  await until(clock, toMs)
  recorder.kill('SIGTERM')
  await once(recorder, 'exit')
  store = await openSqliteEnvironment({ file: join(folder, 'test.db'), clock })
  const markets = (['polymarket', 'kalshi'] as const)
    .flatMap((venue) => world.sandbox.truth.markets(venue, range.fromMs, toMs + 24 * 60 * MINUTE_MS))
    .filter(({ symbol, startMs }) => symbol === 'BTC' && startMs < toMs - MINUTE_MS)
  ended = markets.filter(({ endMs }) => endMs <= toMs - DONE_AFTER_MS)
  running = markets.filter(({ endMs }) => endMs > toMs - DONE_AFTER_MS)
})

after(async () => {
  await store?.close()
  await world?.close()
  rmSync(folder, { recursive: true, force: true })
})

test(`after ${KILLS} kills every market that ended is in the catalogue with its winner`, async () => {
  const venues = new Set(ended.map(({ venue, kind }) => `${venue} ${kind}`))
  for (const kind of ['polymarket 5m', 'polymarket 15m', 'kalshi 15M']) assert.ok(venues.has(kind), kind)
  const wrong: string[] = []
  for (const market of ended) wrong.push(...(await compareCatalogue(store, market)))
  assert.deepEqual(wrong, [])
})

test('rows and gaps together cover each window, and each book is the one of its instant', async () => {
  assert.ok(running.length > 150, `${running.length} markets`)
  const wrong: string[] = []
  let rows = 0
  for (const market of [...ended, ...running]) {
    const found = await compareWindow(store, world.sandbox.truth, market, {
      ...range,
      toMs: range.toMs - MINUTE_MS,
    })
    wrong.push(...found.wrong)
    rows += found.rows
  }
  assert.deepEqual(wrong.slice(0, 10), [])
  assert.ok(rows > 300, `${rows} rows`)
})

test('the prints of markets that ended are those of the venue, each once: the sweep found what was missed', async () => {
  const wrong: string[] = []
  for (const market of ended) wrong.push(...(await comparePrints(store, world.sandbox.truth, market)))
  assert.deepEqual(wrong.slice(0, 10), [])
})

test('the bars of the oracle are those of its rounds, without a hole', async () => {
  for (const interval of ['5m', '15m'] as const) {
    const fromMs = START_MS - 10 * MINUTE_MS
    assert.deepEqual(await compareOracle(store, world.sandbox.truth, interval, { ...range, fromMs }), [])
    assert.deepEqual(await readGaps(store, candleFeed('oracle', 'BTC', interval), { ...range, fromMs }), [])
  }
})

test('the time between a kill and the next start is a gap in what cannot be asked for again', async () => {
  for (const source of ['predmkt_a', 'predmkt_b'] as const) {
    const gaps = await readGaps(store, feedOf('snapshots', source, 'BTC', '15m'), range)
    assert.ok(gaps.length >= 1, `${source} ${JSON.stringify(gaps)}`)
    assert.ok(gaps.every((gap) => gap.reason === 'not_observed' || gap.reason === 'not_provided'))
  }
})

test('no snapshot and no print was rewritten by a restart', async () => {
  const feeds = (await store.series.feeds({})).map(({ feed }) => feed)
  const revisions = await store.series.revisions({
    feeds: feeds.filter(({ dataset }) => dataset === 'snapshots' || dataset === 'trades'),
    range: { from: 0, to: Number.MAX_SAFE_INTEGER },
    limit: 10,
  })
  assert.deepEqual(
    revisions.map(({ text }) => text),
    [],
  )
})

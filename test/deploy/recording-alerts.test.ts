/**
 * The alerts about recorded data, on the metrics of a recorder that runs in a time of its own: a quarter of an hour in
 * which the venue is away, and rows that something deletes behind the recorder. A minute of the recorder is a minute
 * for Prometheus. With TAPELINE_SOAK half an hour before it is clean, else some minutes.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { diskMetrics } from '../../src/app/disk-status.ts'
import { startMeasuring } from '../../src/app/disk-use.ts'
import { ingestMetrics } from '../../src/app/ingest-metrics.ts'
import { recordingMetrics } from '../../src/app/part-metrics.ts'
import { createMetrics } from '../../src/kit/metrics.ts'
import { manualClock } from '../fakes/manual-clock.ts'
import { silentLog } from '../fakes/service.ts'
import { storesIn } from '../fakes/stores.ts'
import { fileBehind } from '../ingest/audited-store.ts'
import { type Recording, startRecording, startWorld, type World } from '../ingest/recording.ts'
import { type PacedClock, pacedClock } from '../predictions/paced-clock.ts'
import { until } from '../until.ts'
import { expectFiring, noPromtool, type Scrape, samplesOf } from './promtool.ts'

const START_MS = Date.parse('2026-11-10T07:52:30Z')
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const STEP_MS = 250
const CLEAN_MINUTES = process.env.TAPELINE_SOAK === undefined ? 2 : 30
const AWAY_MINUTES = 18
/** A check of a source takes place every 30 to 60 seconds, of a random kind. */
const MAX_AUDIT_MINUTES = 240

const skip = noPromtool
const folder = mkdtempSync(join(tmpdir(), 'tapeline-alerts-'))
const metrics = createMetrics({ defaults: false })
const count = ingestMetrics(metrics, 'test')
let world: World<PacedClock>
let recording: Recording

const sources = () => recording.supervisor.status().map((status) => ({ ...status, notice: null }))

before(async () => {
  if (skip) return
  world = await startWorld(pacedClock(START_MS, STEP_MS))
  recording = await startRecording(world, { venues: ['spot'], folder, audit: {} })
  recordingMetrics(metrics, 'test', {
    ingestion: () => sources().map(({ source, state }) => ({ source, status: state })),
    recorded: sources,
  })
  await untilHealthy()
})
after(async () => {
  if (recording !== undefined) await world.clock.during(recording.close())
  await world?.close()
  rmSync(folder, { recursive: true, force: true })
})

async function untilHealthy(): Promise<void> {
  while (sources()[0]?.state !== 'healthy') await world.clock.runUntil(world.clock.now() + 1_000)
}

/** After a minute of the recorder. */
async function scrape(): Promise<Scrape> {
  await world.clock.runUntil(world.clock.now() + MINUTE_MS)
  count({ kind: 'status', sources: sources(), deadLetters: [] })
  return { atMs: world.clock.now(), text: await metrics.registry.metrics() }
}

async function minutes(number: number): Promise<Scrape[]> {
  const scrapes: Scrape[] = []
  while (scrapes.length < number) scrapes.push(await scrape())
  return scrapes
}

test('a recorder that is well has no alert', { skip }, async () => {
  await expectFiring(await minutes(CLEAN_MINUTES), { everySeconds: 60, ever: true, alerts: [] })
})

test('a venue that stays away is stale, and its gap grows', { skip }, async () => {
  const fault = world.sandbox.faults.set({ kind: 'drop', venue: 'spot', durationMs: 24 * 3_600_000 })
  try {
    await expectFiring(await minutes(AWAY_MINUTES), {
      ...{ everySeconds: 60, by: ['source'] },
      alerts: [
        { alertname: 'TapelineSourceStale', source: 'cexa' },
        { alertname: 'TapelineGapGrows', source: 'cexa' },
      ],
    })
  } finally {
    world.sandbox.faults.clear(fault.id)
    await untilHealthy()
  }
})

test('a disk that the recording fills within a week', { skip }, async () => {
  // Its hour is not the hour of the recorder, which would take long to wait for; the bytes are.
  const clock = manualClock(START_MS)
  const stores = storesIn(folder, clock)
  const free = { freeBytes: () => 1e6, isLow: () => false }
  const measuring = startMeasuring({
    stores,
    config: { minFreeBytes: null, diskBytes: null },
    ...{ clock, log: silentLog, room: free },
  })
  const disk = createMetrics({ defaults: false })
  diskMetrics(disk, { report: measuring.report, isLow: free.isLow })
  const measured = () => until('measured', () => measuring.report()?.measuredAtMs === clock.now())
  try {
    clock.advance(15_000)
    await measured()
    await minutes(2)
    clock.advance(HOUR_MS)
    await measured()
    const text = await disk.registry.metrics()
    const scrapes = Array.from({ length: 70 }, () => ({ atMs: clock.now(), text }))
    await expectFiring(scrapes, { everySeconds: 60, alerts: [{ alertname: 'TapelineDiskFullSoon' }] })
  } finally {
    await measuring.close()
  }
})

test('rows that vanish are found by a self-check, which has an alert', { skip }, async () => {
  const scrapes = [await scrape()]
  const { behind } = fileBehind(folder)
  do {
    // Every minute again: which of them a check looks at is drawn.
    behind(
      "DELETE FROM series_rows WHERE feed IN (SELECT id FROM feeds WHERE dataset = 'candles' AND interval = '1m')",
    )
    scrapes.push(await scrape())
  } while (!hasDifferences(scrapes.at(-1)?.text ?? '') && scrapes.length < MAX_AUDIT_MINUTES)
  await expectFiring(scrapes, {
    ...{ everySeconds: 60, by: ['source'] },
    alerts: [{ alertname: 'TapelineAuditDifferences', source: 'cexa' }],
  })
})

function hasDifferences(text: string): boolean {
  return samplesOf(text).some(({ name, value }) => name === 'tapeline_audit_differences_total' && value > 0)
}

import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type AssetSymbol, SYMBOLS } from '../../src/core/symbol.ts'
import { EXCHANGES, rightTrades } from '../compare-trades.ts'
import { coverPast } from '../cover-past.ts'
import { CANDLES, fillCandles } from '../fill-candles.ts'
import { type Figure, median } from '../frame.ts'
import { httpGet, load } from '../load.ts'
import { onCluster, storedIn } from '../on-cluster.ts'
import { type BenchService, startBenchService } from '../processes.ts'

/** Of each of the twelve markets: together 20,004. */
const TRADES_PER_SECOND = 1_667
/** What a service requests after its start for the minute in which it started competes with its recording. */
const SETTLE_MS = 120_000
const PAGES_SETTLE_MS = 30_000
const MEASURE_MS = 60_000
/** A second is closed some seconds after its end; seconds that wait for joined values are closed with their minute. */
const CLOSED_WITHIN_MS = 75_000
const LOOK_EVERY_MS = 250
const REPORTED_EVERY_MS = 1_000
const PAGES_MS = 5_000
const WARM_UP_MS = 4_000
const BLOCK_MS = 10_000
const MINUTE_MS = 60_000
const ROWS = 100
const MIB = 2 ** 20

/**
 * The service as `npm start` runs it, with its simulated exchanges at 20,000 trades a second and the client on the same
 * machine: what it records, how late, with how much memory, and what callers notice.
 */
export async function ingestFigures(): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-ingest-'))
  const startMs = await fillCandles(folder)
  const idle = await startBenchService({ folder, keep: true, environment: { TAPELINE_SANDBOX: 'off' } })
  const idleRounds = await warm(idle, startMs).finally(() => idle.stop())
  await coverPast(folder)
  const busy = await startBenchService({
    folder,
    environment: { TAPELINE_SANDBOX_TRADES: String(TRADES_PER_SECOND) },
  })
  try {
    await isRecording(busy)
    await wait(SETTLE_MS)
    await pageLatency(busy, startMs, PAGES_SETTLE_MS)
    return await measure(busy, startMs, idleRounds)
  } finally {
    await busy.stop()
  }
}

/** The same on PostgreSQL, on one machine with the server. */
export const ingestOnPostgresFigures = () =>
  onCluster(async ({ address }) => {
    const store = `${address}?schema=ingest`
    await coverPast(store)
    const busy = await startBenchService({
      environment: { ...storedIn(store), TAPELINE_SANDBOX_TRADES: String(TRADES_PER_SECOND) },
    })
    try {
      await isRecording(busy)
      await wait(SETTLE_MS)
      const fromMs = Math.ceil(Date.now() / BLOCK_MS) * BLOCK_MS
      const looks = await watchTo(busy, fromMs + MEASURE_MS)
      return (await recordedFigures(busy, fromMs, looks, 1_500)).map((figure) => ({
        ...figure,
        name: `PostgreSQL: ${figure.name}`,
      }))
    } finally {
      await busy.stop()
    }
  })

interface Look {
  /** How far the exchange that is furthest behind is behind; undefined if there is no new report. */
  readonly lagMs: number | undefined
  /** The age of the newest trade that a caller can read, in the market where it is oldest. */
  readonly ageMs: number
  readonly bytes: number
}

async function watchTo(service: BenchService, endsMs: number): Promise<Look[]> {
  const looks: Look[] = []
  const lagOf = lagReader(service)
  while (Date.now() < endsMs) {
    const [lagMs, ages] = [await lagOf(), await Promise.all(SYMBOLS.map((symbol) => ageOf(service, symbol)))]
    looks.push({ lagMs, ageMs: Math.max(...ages), bytes: anonymousBytes(service.pid) })
    await wait(LOOK_EVERY_MS)
  }
  return looks
}

/** Called once all seconds of the range are closed. */
async function recordedFigures(
  service: BenchService,
  fromMs: number,
  looks: readonly Look[],
  maxLagMs: number,
): Promise<Figure[]> {
  await wait(CLOSED_WITHIN_MS)
  const right = await rightTrades({
    ...{ service, tradesPerSecond: TRADES_PER_SECOND, fromMs, toMs: fromMs + MEASURE_MS },
  })
  const lags = looks.flatMap(({ lagMs }) => lagMs ?? []).sort((a, b) => a - b)
  const ages = looks.map(({ ageMs }) => ageMs).sort((a, b) => a - b)
  return [
    {
      name: 'trades per second, recorded and right',
      atLeast: 20_000,
      value: right.trades / (MEASURE_MS / 1_000),
      detail:
        right.wrong.length === 0
          ? 'every second of twelve markets'
          : `${right.wrong.length} wrong: ${right.wrong.slice(0, 3).join('; ')}`,
    },
    {
      name: 'lag of the recording in ms, 99th percentile',
      atMost: maxLagMs,
      value: lags[Math.floor(lags.length * 0.99)] ?? Number.NaN,
      detail: `median ${median(lags)} ms, longest ${lags.at(-1)} ms`,
    },
    {
      // Without a bound: it includes the commit, which takes as long as the disk and the other processes let it.
      name: 'age in ms of the newest trade that can be read, 99th percentile',
      value: ages[Math.floor(ages.length * 0.99)] ?? Number.NaN,
      detail: `median ${median(ages)} ms, longest ${ages.at(-1)} ms`,
    },
  ]
}

async function measure(service: BenchService, startMs: number, idle: readonly Latency[]): Promise<Figure[]> {
  const fromMs = Math.ceil(Date.now() / BLOCK_MS) * BLOCK_MS
  const pages: Latency[] = []
  const ask = async () => {
    await wait(MEASURE_MS / 4)
    for (let round = 0; round < 3; round++) {
      pages.push(await pageLatency(service, startMs))
      await wait(PAGES_MS)
    }
  }
  const [looks] = await Promise.all([watchTo(service, fromMs + MEASURE_MS), ask()])
  const half = Math.floor(looks.length / 2)
  const peak = (part: readonly Look[]) => Math.max(...part.map(({ bytes }) => bytes)) / MIB
  const [before, after] = [peak(looks.slice(0, half)), peak(looks.slice(half))]
  return [
    ...(await recordedFigures(service, fromMs, looks, 1_000)),
    {
      name: 'highest memory of the second half minute / the first',
      atMost: 1.1,
      value: after / before,
      detail: `${after.toFixed(0)} of ${before.toFixed(0)} MiB, the simulated venues and nodes in it`,
    },
    pageFigure('candle page while recording / idle, p50', pages, idle, 'p50', { atMost: 3 }),
    // Two callers that never pause take one and a half of the two cores: the slowest calls wait for the other half.
    pageFigure('candle page while recording / idle, p95', pages, idle, 'p95', {}),
  ]
}

interface Latency {
  p50: number
  p95: number
}

function pageFigure(
  name: string,
  busy: readonly Latency[],
  idle: readonly Latency[],
  which: keyof Latency,
  bound: { atMost?: number },
): Figure {
  const [busyMs, idleMs] = [busy, idle].map((rounds) => median(rounds.map((round) => round[which])))
  const value = (busyMs ?? Number.NaN) / (idleMs ?? Number.NaN)
  return { name, ...bound, value, detail: `${busyMs?.toFixed(2)} of ${idleMs?.toFixed(2)} ms` }
}

interface Ingestion {
  source: string
  status: string
  last_event_at: string | null
  lag_seconds: number | null
  backfill: number | null
}

async function ingestionOf({ port, key }: BenchService): Promise<Ingestion[]> {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/status`, { headers: { 'X-API-Key': key } })
  return ((await answer.json()) as { ingestion: Ingestion[] }).ingestion
}

const isExchange = ({ source }: Ingestion) => EXCHANGES.some((exchange) => exchange.source === source)

async function isRecording(service: BenchService): Promise<void> {
  for (let second = 0; second < 120; second++) {
    await wait(1_000)
    const rows = await ingestionOf(service)
    const exchanges = rows.filter(isExchange)
    if (
      exchanges.length === 3 &&
      exchanges.every(({ status, backfill }) => status === 'healthy' && backfill === 1)
    )
      return
  }
  throw new Error('the exchanges were not recorded within two minutes')
}

/**
 * The lag of the exchange that is furthest behind, as reported by `/v1/status`. A recorder reports once a second, so a
 * lag counts when its report is new, and while the next one is overdue.
 */
function lagReader(service: BenchService): () => Promise<number | undefined> {
  const seen = new Map<string, { eventAt: string | null; sinceMs: number }>()
  return async () => {
    const nowMs = performance.now()
    const lags = (await ingestionOf(service)).filter(isExchange).flatMap((row) => {
      const last = seen.get(row.source)
      const isNew = last?.eventAt !== row.last_event_at
      if (isNew) seen.set(row.source, { eventAt: row.last_event_at, sinceMs: nowMs })
      const isOverdue = last !== undefined && nowMs - last.sinceMs > REPORTED_EVERY_MS + LOOK_EVERY_MS
      return isNew || isOverdue ? [(row.lag_seconds ?? Number.POSITIVE_INFINITY) * 1_000] : []
    })
    return lags.length === 0 ? undefined : Math.max(...lags)
  }
}

async function ageOf({ port, key }: BenchService, symbol: AssetSymbol): Promise<number> {
  const start = new Date(Date.now() - MINUTE_MS).toISOString()
  const path = `/v1/trades?source=perpdex&symbol=${symbol}&order=desc&limit=1&start=${start}`
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { 'X-API-Key': key } })
  const { data } = (await answer.json()) as { data: { timestamp: string }[] }
  return data[0] === undefined ? MINUTE_MS : Date.now() - Date.parse(data[0].timestamp)
}

async function warm(service: BenchService, startMs: number): Promise<Latency[]> {
  await pageLatency(service, startMs, WARM_UP_MS)
  const rounds: Latency[] = []
  for (let round = 0; round < 3; round++) rounds.push(await pageLatency(service, startMs))
  return rounds
}

/** Latencies of two callers that request page after page. */
async function pageLatency(
  { port, key }: BenchService,
  startMs: number,
  durationMs = PAGES_MS,
): Promise<Latency> {
  let turn = 0
  const path = () => {
    const from = startMs + (turn++ % (CANDLES - ROWS)) * MINUTE_MS
    const range = `start=${new Date(from).toISOString()}&end=${new Date(from + ROWS * MINUTE_MS).toISOString()}`
    return `/v1/candles?symbol=BTC&source=cexa&interval=1m&limit=${ROWS}&${range}`
  }
  const result = await load({
    port,
    connections: 2,
    durationMs,
    request: () => httpGet(path(), { 'X-API-Key': key }),
  })
  if (!result.statuses.has(200) || result.statuses.size !== 1)
    throw new Error(`answers were ${JSON.stringify([...result.statuses])}`)
  const at = (part: number) => result.latenciesMs[Math.floor(result.latenciesMs.length * part)] ?? Number.NaN
  return { p50: at(0.5), p95: at(0.95) }
}

/** What the process allocated; mapped pages of database files are managed by the kernel. */
function anonymousBytes(pid: number): number {
  const line = /RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(line?.[1]) * 1_024
}

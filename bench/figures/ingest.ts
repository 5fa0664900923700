import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { CANDLES, fillCandles } from '../fill-candles.ts'
import { type Figure, median } from '../frame.ts'
import { httpGet, load } from '../load.ts'
import { type BenchService, startBenchService } from '../processes.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Twelve markets: together 20,000 trades a second. */
const TRADES_PER_SECOND = 1_667
const SETTLE_MS = 15_000
const MEASURE_MS = 30_000
const MINUTE_MS = 60_000
const ROWS = 100

interface Addresses {
  controlUrl: string
  [venue: string]: unknown
}
interface Status {
  kind: 'lag'
  lagMs: number
  trades: number
}

/** Recording 20,000 trades a second, and what the callers of the API notice of a recording. */
export async function ingestFigures(): Promise<Figure[]> {
  return [...(await measureTrades()), ...(await measurePages())]
}

async function measureTrades(): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-ingest-'))
  const sandbox = start([
    'src/sandbox/exchanges/process.ts',
    '--trades-per-second',
    String(TRADES_PER_SECOND),
  ])
  const addresses = JSON.parse(await firstLine(sandbox)) as Addresses
  const recorder = start(['bench/record-process.ts', JSON.stringify({ folder, addresses })])
  const told: Status[] = []
  recorder.stdout?.on('data', (chunk: Buffer) => {
    for (const line of String(chunk).split('\n')) if (line.startsWith('{')) told.push(JSON.parse(line))
  })
  try {
    await wait(SETTLE_MS)
    const first = told.at(-1)
    const startedAt = performance.now()
    const firstBytes = residentBytes(recorder)
    told.length = 0
    await wait(MEASURE_MS)
    const seconds = (performance.now() - startedAt) / 1_000
    const lastBytes = residentBytes(recorder)
    const last = told.at(-1)
    const lags = told.map(({ lagMs }) => lagMs).sort((a, b) => a - b)
    const rate = ((last?.trades ?? 0) - (first?.trades ?? 0)) / seconds
    return [
      {
        name: 'trades per second, observed and recorded',
        atLeast: 19_000,
        value: rate,
        detail: `${Math.round(lastBytes / 2 ** 20)} MiB resident`,
      },
      {
        name: 'lag of the recording in ms, 95th percentile',
        atMost: 1_000,
        value: lags[Math.floor(lags.length * 0.95)] ?? Number.NaN,
        detail: `median ${median(lags)} ms`,
      },
      {
        name: 'growth of memory while recording, MiB per minute',
        atMost: 300,
        value: ((lastBytes - firstBytes) / 2 ** 20 / seconds) * 60,
        detail: '',
      },
    ]
  } finally {
    await stop(recorder)
    await stop(sandbox)
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measurePages(): Promise<Figure[]> {
  const idle = await pagesOf('off')
  const busy = await pagesOf('on')
  return [
    {
      name: 'candle page while recording / idle, 95th percentile',
      atMost: 3,
      value: busy / idle,
      detail: `${busy.toFixed(2)} of ${idle.toFixed(2)} ms, the simulated exchanges beside it`,
    },
  ]
}

/** The latency of pages of a service whose store holds the same candles, and records or does not. */
async function pagesOf(sandbox: 'on' | 'off'): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-pages-'))
  const startMs = await fillCandles(join(folder, 'test.db'))
  const service = await startBenchService({ folder, environment: { TAPELINE_SANDBOX: sandbox } })
  try {
    if (sandbox === 'on') await isFilled(service)
    return await pageLatency(service, startMs)
  } finally {
    await service.stop()
  }
}

async function isFilled({ port, key }: BenchService): Promise<void> {
  for (let i = 0; i < 240; i++) {
    await wait(1_000)
    const answer = await fetch(`http://127.0.0.1:${port}/v1/status`, { headers: { 'X-API-Key': key } })
    const { ingestion } = (await answer.json()) as { ingestion: { backfill: number | null }[] }
    if (ingestion.length === 3 && ingestion.every(({ backfill }) => backfill === 1)) return
  }
  throw new Error('the first fill took more than four minutes')
}

async function pageLatency({ port, key }: BenchService, startMs: number): Promise<number> {
  let turn = 0
  const path = () => {
    const from = startMs + (turn++ % (CANDLES - ROWS)) * MINUTE_MS
    const range = `start=${new Date(from).toISOString()}&end=${new Date(from + ROWS * MINUTE_MS).toISOString()}`
    return `/v1/candles?symbol=BTC&source=cexa&interval=1m&limit=${ROWS}&${range}`
  }
  const result = await load({
    port,
    connections: 2,
    durationMs: 5_000,
    request: () => httpGet(path(), { 'X-API-Key': key }),
  })
  if (!result.statuses.has(200) || result.statuses.size !== 1)
    throw new Error(`answers were ${JSON.stringify([...result.statuses])}`)
  return result.latenciesMs[Math.floor(result.latenciesMs.length * 0.95)] ?? Number.NaN
}

function start(args: string[]): ChildProcess {
  return spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('no output')
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer]
  return String(chunk).split('\n')[0] ?? ''
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  if (child.exitCode === null) await once(child, 'exit')
}

function residentBytes({ pid }: ChildProcess): number {
  const pages = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]
  return Number(pages) * 4_096
}

/**
 * The first start on an empty folder, as its callers see it: the API answers at once and reports the progress of the
 * backfill; within 90 s of the start of the process everything that the simulated exchanges have is available.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type CandleInterval, INTERVAL_MS } from '../../src/core/interval.ts'
import { SYMBOLS } from '../../src/core/symbol.ts'
import { ask } from '../fakes/client.ts'
import { type ChildService, dataFolder, printedKey, spawnService } from '../fakes/service.ts'

const isLong = process.env.TAPELINE_SOAK !== undefined
/** The limits of the perpetual venue alone take a minute. */
const skip = isLong ? false : 'takes more than a minute (npm run soak)'
const DAY_MS = 86_400_000
const SECOND_MS = 1_000
const HOUR_MS = 3_600_000
const MONTH_MS = 31 * DAY_MS
const WITHIN_MS = 90_000
const ANSWERS_WITHIN_MS = 1_000
const PAST = ['1m', '5m', '15m', '1h', '4h', '1d'] as const satisfies CandleInterval[]
const COARSE = ['5m', '15m', '1h', '4h', '24h'] as const
/** The perpetual venue serves its newest 5,000 candles of each interval; one is forming, one may expire meanwhile. */
const PERP_BARS = 4_998

interface Row extends Record<string, unknown> {
  readonly timestamp: string
}
interface Meta {
  readonly next_cursor: string | null
  readonly clamped_reason: string | null
  readonly coverage: { readonly gaps: Gap[] }
}
interface Gap {
  readonly from: string
  readonly to: string
  readonly reason: string
}

const folder = dataFolder()
let service: ChildService
let key = ''
let startedMs = 0
/** Milliseconds since the start of the process. */
const took = { listening: 0, answering: 0, filled: 0, read: 0 }
let slowestMs = 0
const shares = new Map<string, number[]>()
const filledMs: Record<string, number> = {}

const sinceStart = () => performance.now() - startedMs

async function timed(path: string) {
  const askedMs = performance.now()
  const answer = await ask(`${service.url}${path}`, { key })
  slowestMs = Math.max(slowestMs, performance.now() - askedMs)
  assert.equal(answer.status, 200, answer.text.slice(0, 300))
  return answer
}

async function isFilled(): Promise<boolean> {
  const { json } = await timed('/v1/status')
  const sources = json.ingestion as { source: string; backfill: number | null }[]
  const exchanges = ['cexa', 'cexa_futures', 'perpdex'].map((source) => {
    const share = sources.find((row) => row.source === source)?.backfill ?? null
    if (share !== null) shares.set(source, [...(shares.get(source) ?? []), share])
    if (share === 1) filledMs[source] ??= sinceStart()
    return share
  })
  return exchanges.every((share) => share === 1)
}

before(async () => {
  if (skip !== false) return
  startedMs = performance.now()
  service = await spawnService(folder.path, {
    env: { TAPELINE_SANDBOX: 'on', TAPELINE_FIRST_FILL_DAYS: '31', TAPELINE_LOG_LEVEL: 'info' },
  })
  took.listening = sinceStart()
  key = await printedKey(service)
  await timed('/v1/candles?symbol=BTC&source=cexa&interval=1h&limit=3')
  took.answering = sinceStart()
  while (!(await isFilled())) {
    await timed('/v1/candles?symbol=ETH&source=cexa_futures&interval=1m&limit=500')
    assert.ok(sinceStart() < 3 * WITHIN_MS, `not filled: ${JSON.stringify([...shares])}`)
    await wait(250)
  }
  took.filled = sinceStart()
})

after(async () => {
  await service?.kill('SIGKILL')
  folder.remove()
})

const limitOf = (path: string) =>
  path.startsWith('candles') ? 10_000 : path.startsWith('flow') ? 5_000 : 1_000

interface Past {
  readonly rows: Row[]
  readonly gaps: Gap[]
  readonly toMs: number
  /** Whether the answer begins with the first row there is, and says so. */
  readonly isClamped: boolean
}

/** Every row of the last `lengthMs`, read page by page, and the gaps that the pages list. */
async function readPast(path: string, lengthMs: number): Promise<Past> {
  const toMs = Date.now()
  const range = `start=${new Date(toMs - lengthMs).toISOString()}&end=${new Date(toMs).toISOString()}`
  const rows: Row[] = []
  const gaps: Gap[] = []
  let isClamped = false
  for (let cursor = ''; ; ) {
    const answer = await ask(`${service.url}/v1/${path}&${range}&limit=${limitOf(path)}${cursor}`, { key })
    if (answer.status === 429) {
      await wait(SECOND_MS)
      continue
    }
    assert.equal(answer.status, 200, `${path}: ${answer.text.slice(0, 300)}`)
    rows.push(...(answer.json.data as Row[]))
    const meta = answer.json.meta as Meta
    gaps.push(...meta.coverage.gaps)
    isClamped ||= meta.clamped_reason === 'before_earliest_data'
    if (meta.next_cursor === null) return { rows, gaps, toMs, isClamped }
    cursor = `&after=${encodeURIComponent(meta.next_cursor)}`
  }
}

/** No gap except the minute of the start, which is requested when it is over, like every minute. */
function assertWhole(name: string, { gaps, toMs }: Past): void {
  const startMinuteMs = toMs - sinceStart() - 2 * 60 * SECOND_MS
  assert.deepEqual(
    gaps.filter(({ from }) => Date.parse(from) < startMinuteMs),
    [],
    name,
  )
}

/** One row for each point of the grid in the range, and no other. */
function assertGrid(name: string, { rows, toMs }: Past, lengthMs: number, stepMs: number): void {
  const firstMs = Math.ceil((toMs - lengthMs) / stepMs) * stepMs
  const times = rows.map((row) => Date.parse(row.timestamp))
  const missing = []
  const known = new Set(times)
  assert.equal(known.size, times.length, `${name}: rows are there twice`)
  // The newest point may not have been sent yet.
  for (let at = firstMs; at < toMs - stepMs; at += stepMs)
    if (!known.has(at)) missing.push(new Date(at).toISOString())
  assert.deepEqual(missing.slice(0, 5), [], `${name}: ${missing.length} of ${times.length} are missing`)
}

test('the API answers from the first second on, and never slowly', { skip }, () => {
  assert.ok(took.answering - took.listening < ANSWERS_WITHIN_MS, `${took.answering - took.listening} ms`)
  assert.ok(slowestMs < ANSWERS_WITHIN_MS, `the slowest answer took ${slowestMs} ms`)
})

test('the progress is shown, in the status and in the log, and never goes back', { skip }, () => {
  for (const [source, told] of shares) {
    assert.ok(
      told.some((share) => share < 1),
      source,
    )
    assert.deepEqual(
      told,
      told.toSorted((a, b) => a - b),
      source,
    )
  }
  assert.match(service.printed(), /"percent":\d+.*"msg":"filling the past"/)
  assert.match(service.printed(), /"failed":0.*"msg":"the past is filled"/)
})

for (const source of ['cexa', 'cexa_futures'] as const) {
  test(`${source}: 31 days of candles of a minute and longer, without a gap`, { skip }, async () => {
    for (const symbol of SYMBOLS)
      for (const interval of PAST) {
        const path = `candles?symbol=${symbol}&source=${source}&interval=${interval}`
        const past = await readPast(path, MONTH_MS)
        assertWhole(path, past)
        assertGrid(path, past, MONTH_MS, INTERVAL_MS[interval])
      }
  })
}

test('31 days of flow volumes, with counts for the last 6 hours', { skip }, async () => {
  for (const symbol of SYMBOLS)
    for (const interval of COARSE) {
      const path = `flow?symbol=${symbol}&interval=${interval}`
      const past = await readPast(path, MONTH_MS)
      assertWhole(path, past)
      assertGrid(path, past, MONTH_MS, INTERVAL_MS[interval])
      const countedMs = past.toMs - 6 * HOUR_MS
      for (const row of past.rows) {
        const isCounted = Date.parse(row.timestamp) >= countedMs
        assert.ok(!isCounted || typeof row.num_buys === 'number', `${path}: ${row.timestamp} has no counts`)
      }
    }
})

test('31 days of funding, and of the open interest of the futures', { skip }, async () => {
  for (const symbol of SYMBOLS) {
    for (const [source, everyMs] of [
      ['cexa_futures', 8 * HOUR_MS],
      ['perpdex', HOUR_MS],
    ] as const) {
      const past = await readPast(`funding?symbol=${symbol}&source=${source}`, MONTH_MS)
      assertWhole(`funding of ${source}`, past)
      assertGrid(`funding of ${source}`, past, MONTH_MS, everyMs)
    }
    for (const interval of ['5m', '15m', '1h', '4h', '1d'] as const) {
      const path = `open-interest?symbol=${symbol}&source=cexa_futures&interval=${interval}`
      const past = await readPast(path, MONTH_MS)
      // The newest sample is published some minutes late; the oldest minutes expired while they were requested.
      for (const { from, to, reason } of past.gaps)
        assert.ok(
          reason === 'not_provided' && Date.parse(to) < past.toMs - MONTH_MS + 2 * WITHIN_MS,
          `${path}: ${from} to ${to} ${reason}`,
        )
      assertGrid(path, past, MONTH_MS - 2 * WITHIN_MS, INTERVAL_MS[interval])
    }
  }
})

test('the perpetual venue: all that its limits allow, and what it does not have is a gap', {
  skip,
}, async () => {
  for (const symbol of SYMBOLS)
    for (const interval of PAST) {
      const path = `candles?symbol=${symbol}&source=perpdex&interval=${interval}`
      const past = await readPast(path, MONTH_MS)
      const lengthMs = Math.min(MONTH_MS, PERP_BARS * INTERVAL_MS[interval] - 2 * WITHIN_MS)
      assertGrid(path, past, lengthMs, INTERVAL_MS[interval])
      const keptMs = past.toMs - lengthMs
      const isMissing = ({ to, reason }: Gap) => reason === 'not_provided' && Date.parse(to) <= keptMs
      assertWhole(path, { ...past, gaps: past.gaps.filter((gap) => !isMissing(gap)) })
      // What the venue does not have is a gap, or the answer begins with the first available row and says so.
      assert.equal(past.isClamped || past.gaps.some(isMissing), lengthMs < MONTH_MS, path)
      if (interval === '1d') assert.ok(past.rows.length >= 31, path)
    }
  took.read = sinceStart()
})

test('and all of it within 90 s of the start', { skip }, (t) => {
  const seconds = (ms: number) => (ms / 1_000).toFixed(1)
  t.diagnostic(
    `listening after ${seconds(took.listening)} s, filled after ${seconds(took.filled)} s (` +
      `${Object.entries(filledMs)
        .map(([source, ms]) => `${source} ${seconds(ms)} s`)
        .join(', ')}), ` +
      `slowest answer ${Math.round(slowestMs)} ms, everything read after ${seconds(took.read)} s`,
  )
  assert.ok(took.filled <= WITHIN_MS, `${took.filled} ms`)
})

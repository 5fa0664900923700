/** The embedded engine against what it is made of: a bare insert loop, a small table, the first page. */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type CandleInput, encodeCandle } from '../../src/core/rows/candle.ts'
import { systemClock } from '../../src/kit/clock.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import { openStores, parseStoreAddress } from '../../src/store/open-stores.ts'
import type { Position } from '../../src/store/series.ts'
import { candleAt } from '../fill-candles.ts'
import { type Figure, median, ratio, type Size } from '../frame.ts'

const SECOND_MS = 1_000
const START_MS = Date.UTC(2026, 0, 1)
const FEED = { dataset: 'candles', source: 'cexa', symbol: 'BTC', interval: '1s' } as const
const BOOKS = { dataset: 'snapshots', source: 'predmkt_a', symbol: 'BTC', interval: '15m' } as const
const ROUNDS = 7
const HOLD_ROUNDS = 16
const BATCH_ROWS = 5_000
const APPEND_ROWS = 30_000
const PAGE_ROWS = 100
const PAGES_PER_ROUND = 60
/** Reads that run during an append. */
const READ_EVERY_MS = 5

export async function storeFigures(size: Size): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-store-'))
  try {
    return [...(await appendFigures(folder)), await bookFigure(folder), ...(await sizeFigures(folder, size))]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A separate store, in a folder of that name. */
function openIn(parent: string, name: string): Promise<EnvironmentStore> {
  const folder = join(parent, name)
  mkdirSync(folder)
  return openStores(parseStoreAddress(folder), systemClock).environment('test')
}

const candle = (index: number) => candleAt(index, START_MS + index * SECOND_MS)
const candles = (from: number, count: number) => Array.from({ length: count }, (_, i) => candle(from + i))

/** Rows per second with concurrent reads, and how long the event loop is held at a time. */
async function appendFigures(folder: string): Promise<Figure[]> {
  const store = await openIn(folder, 'append')
  const bare = bareTable(join(folder, 'bare.db'))
  const holds: Hold[] = []
  let next = 0
  let bareNext = 0
  const appendRound = async () => {
    const from = next
    next += APPEND_ROWS
    const batches: CandleInput[][] = []
    for (let i = 0; i < APPEND_ROWS; i += BATCH_ROWS) batches.push(candles(from + i, BATCH_ROWS))
    const reading = setInterval(() => {
      void pageAt(store, Math.floor(Math.random() * Math.max(1, from)))
    }, READ_EVERY_MS)
    const started = performance.now()
    await Promise.all(batches.map((rows) => store.write({ rows: [{ feed: FEED, rows }] })))
    const seconds = (performance.now() - started) / 1_000
    clearInterval(reading)
    return APPEND_ROWS / seconds
  }
  const bareRound = async () => {
    const rows = candles(bareNext, APPEND_ROWS).map((row) => encodeCandle(FEED, row))
    bareNext += APPEND_ROWS
    const started = performance.now()
    bare.insert(rows)
    return APPEND_ROWS / ((performance.now() - started) / 1_000)
  }
  try {
    const speed = await ratio(ROUNDS, { subject: appendRound, limit: bareRound })
    for (let i = 0; i < HOLD_ROUNDS; i++) holds.push(await longestHold(store, next + i * 2 * BATCH_ROWS))
    const longest = holds.map(({ ms }) => ms).sort((a, b) => a - b)
    return [
      {
        name: 'append while reads go on / bare node:sqlite insert loop',
        atLeast: 0.6,
        value: speed.ratio,
        detail: `${Math.round(speed.subject)} of ${Math.round(speed.limit)} rows/s`,
      },
      {
        name: 'longest hold of the event loop by an append, ms',
        atMost: 5,
        value: median(holds.map(({ cpuMs }) => cpuMs)),
        detail: `processor time; the clock says ${median(longest).toFixed(1)}, longest of each round: ${longest.map((ms) => ms.toFixed(1)).join(' ')}`,
      },
    ]
  } finally {
    bare.close()
    await store.close()
  }
}

/** The limit: the same rows as the same text under the same key, one prepared insert, one transaction per batch. */
function bareTable(file: string) {
  const database = new DatabaseSync(file)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  database.exec(
    'CREATE TABLE rows (feed INTEGER, ts INTEGER, instrument TEXT, seq INTEGER, text TEXT, PRIMARY KEY (feed, ts, instrument, seq)) WITHOUT ROWID',
  )
  const insert = database.prepare('INSERT INTO rows VALUES (1, ?, ?, 0, ?)')
  return {
    insert(rows: readonly { ts: number; text: string }[]) {
      for (let i = 0; i < rows.length; i += BATCH_ROWS) {
        database.exec('BEGIN IMMEDIATE')
        for (const { ts, text } of rows.slice(i, i + BATCH_ROWS)) insert.run(ts, '', text)
        database.exec('COMMIT')
      }
    },
    close: () => database.close(),
  }
}

interface Hold {
  /** Elapsed time, which includes what other processes took on a busy machine. */
  ms: number
  /** Processor time of this thread. The writer's thread does all the waiting, so nothing else holds the loop. */
  cpuMs: number
}

/** The longest turn of the caller's event loop while rows are appended. */
async function longestHold(store: EnvironmentStore, from: number): Promise<Hold> {
  const batches = [candles(from, BATCH_ROWS), candles(from + BATCH_ROWS, BATCH_ROWS)]
  let done = false
  const longest: Hold = { ms: 0, cpuMs: 0 }
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
  // Otherwise garbage of the measurement itself would be collected during it.
  collectGarbage()
  await turn()
  const appended = Promise.all(batches.map((rows) => store.write({ rows: [{ feed: FEED, rows }] }))).then(
    () => {
      done = true
    },
  )
  while (!done) {
    const [beforeMs, cpuBefore] = [performance.now(), process.threadCpuUsage()]
    await turn()
    longest.ms = Math.max(longest.ms, performance.now() - beforeMs)
    const { user, system } = process.threadCpuUsage(cpuBefore)
    longest.cpuMs = Math.max(longest.cpuMs, (user + system) / 1_000)
  }
  await appended
  return longest
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

function pageAt(store: EnvironmentStore, index: number, position?: Position) {
  const range = { from: START_MS + index * SECOND_MS, to: START_MS + 400 * 86_400_000 }
  const query = { feeds: [FEED], range, order: 'asc', limit: PAGE_ROWS, separator: ',' } as const
  return store.series.page({ ...query, ...(position ? { position } : {}) })
}

async function medianMs(count: number, read: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    const started = performance.now()
    await read()
    times.push(performance.now() - started)
  }
  return median(times)
}

/** A page with both books at depth 10 against the same page without. */
async function bookFigure(folder: string): Promise<Figure> {
  const store = await openIn(folder, 'books')
  const samples = 12_000
  const side = (best: number, direction: number, shift: number) =>
    Array.from({ length: 30 }, (_, i) => {
      const price = Math.round((best + direction * i * 0.005) * 1_000) / 1_000
      return [price, 10 + ((i * 7 + shift) % 90)] as const
    })
  const sample = (index: number) => ({
    time: START_MS + index * 500,
    marketId: `0x${'ab'.repeat(32)}`,
    slug: 'btc-updown-15m-1',
    question: 'Bitcoin Up or Down?',
    tokenUp: '1'.repeat(77),
    tokenDown: '2'.repeat(77),
    up: { bids: side(0.49, -1, index % 13), asks: side(0.51, 1, index % 11) },
    down: { bids: side(0.48, -1, index % 7), asks: side(0.52, 1, index % 5) },
  })
  for (let i = 0; i < samples; i += 1_000) {
    const rows = Array.from({ length: 1_000 }, (_, k) => sample(i + k))
    await store.write({ rows: [{ feed: BOOKS, rows }] })
  }
  const page = (books: boolean) => {
    const from = START_MS + Math.floor(Math.random() * (samples - PAGE_ROWS)) * 500
    const range = { from, to: START_MS + samples * 500 }
    return store.series.page({
      feeds: [BOOKS],
      range,
      order: 'asc',
      limit: PAGE_ROWS,
      separator: ',',
      ...(books ? { books: { books: true, diffs: false, depth: 10 } } : {}),
    })
  }
  try {
    const measured = await ratio(ROUNDS, {
      limit: () => medianMs(PAGES_PER_ROUND, () => page(false)),
      subject: () => medianMs(PAGES_PER_ROUND, () => page(true)),
    })
    return {
      name: '100 snapshots with books at depth 10 / without, p50',
      atMost: 10,
      value: measured.ratio,
      detail: `${measured.subject.toFixed(2)} and ${measured.limit.toFixed(2)} ms`,
    }
  } finally {
    await store.close()
  }
}

/** A page costs the same in a large table as in a small one, and deep in a walk as at its start. */
async function sizeFigures(folder: string, size: Size): Promise<Figure[]> {
  const small = 100_000
  const large = size === 'full' ? 10_000_000 : 1_000_000
  const stores = { small: await openIn(folder, 'small'), large: await openIn(folder, 'large') }
  const fill = async (store: EnvironmentStore, count: number) => {
    for (let i = 0; i < count; i += 10_000)
      await store.write({ rows: [{ feed: FEED, rows: candles(i, 10_000) }] })
  }
  const random = (store: EnvironmentStore, rows: number) => () =>
    pageAt(store, Math.floor(Math.random() * (rows - PAGE_ROWS)))
  try {
    await fill(stores.small, small)
    await fill(stores.large, large)
    const bySize = await ratio(ROUNDS, {
      limit: () => medianMs(PAGES_PER_ROUND, random(stores.small, small)),
      subject: () => medianMs(PAGES_PER_ROUND, random(stores.large, large)),
    })
    const thousandth = START_MS + (999 * PAGE_ROWS - 1) * SECOND_MS
    const position = { ts: thousandth, source: 'cexa', instrument: '', seq: 0 } as const
    const byDepth = await ratio(ROUNDS, {
      limit: () => medianMs(PAGES_PER_ROUND, () => pageAt(stores.large, 0)),
      subject: () => medianMs(PAGES_PER_ROUND, () => pageAt(stores.large, 0, position)),
    })
    const ms = (measured: { subject: number; limit: number }) =>
      `${measured.subject.toFixed(3)} and ${measured.limit.toFixed(3)} ms`
    return [
      {
        name: `page of 100 at ${large / 1e6} M rows / at 100 k rows, p50`,
        atMost: 1.5,
        value: bySize.ratio,
        detail: ms(bySize),
      },
      { name: 'page 1,000 of a walk / page 1, p50', atMost: 1.25, value: byDepth.ratio, detail: ms(byDepth) },
    ]
  } finally {
    await stores.small.close()
    await stores.large.close()
  }
}

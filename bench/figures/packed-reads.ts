/**
 * Reads of packed rows of past days, compared with the same reads of rows as they were written: at random places with
 * the memory that a service has, page after page, with almost no memory for caches, and from the disk.
 */
import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Feed } from '../../src/core/feed.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { seeded } from '../../src/store/conformance/engine.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import { openStores, parseStoreAddress, type Stores } from '../../src/store/open-stores.ts'
import type { PageQuery } from '../../src/store/series.ts'
import { type Figure, ratio, type Size } from '../frame.ts'
import { BOOKS, CANDLES, FUTURES, fillExchange, ROW_MS, START_MS, TRADES } from '../packed-rows.ts'

const ROUNDS = 7
/** Enough that a round is much longer than a tick of the processor time clock. */
const PAGES = 600
/** Few enough that most of them are in parts of the file that were not read since the cache was dropped. */
const PAGES_FROM_DISK = 30
/** Every page is read from the file again. */
const NO_CACHE_MB = 1
/** Most of what is read is in memory after them, as in a service. */
const WARM_ROUNDS = 2

interface Reads {
  name: string
  feeds: readonly Feed[]
  limit: number
  order?: 'asc' | 'desc'
  filters?: PageQuery['filters']
  stepMs?: number
  /** Reads like the API: with coverage, and sealed pages from memory. */
  covered?: true
  inTurn?: true
  cacheMb?: number
  /** The system's page cache is dropped before each round, and elapsed time is measured instead of processor time. */
  fromDisk?: true
  atLeast?: number
}

const READS: readonly Reads[] = [
  { name: '100 candles', feeds: [CANDLES], limit: 100, atLeast: 0.9 },
  { name: '100 candles, newest first', feeds: [CANDLES], limit: 100, order: 'desc', atLeast: 0.9 },
  { name: '1,000 candles', feeds: [CANDLES], limit: 1_000, atLeast: 1 },
  { name: '100 candles of two sources', feeds: [CANDLES, FUTURES], limit: 100, atLeast: 0.9 },
  { name: '100 trades', feeds: [TRADES], limit: 100, atLeast: 1 },
  { name: '100 trades of one side', feeds: [TRADES], limit: 100, filters: { side: 'buy' }, atLeast: 0.9 },
  { name: '100 order books', feeds: [BOOKS], limit: 100, atLeast: 0.9 },
  { name: '100 order books, one per second', feeds: [BOOKS], limit: 100, stepMs: 1_000 },
  { name: '50 order books, one per 5 minutes', feeds: [BOOKS], limit: 50, stepMs: 300_000, atLeast: 0.95 },
  { name: 'sealed pages of 100 candles', feeds: [CANDLES], limit: 100, covered: true, atLeast: 1 },
  { name: 'sealed pages of 1,000 candles', feeds: [CANDLES], limit: 1_000, covered: true, atLeast: 1 },
  { name: '100 trades after 100', feeds: [TRADES], limit: 100, inTurn: true, cacheMb: NO_CACHE_MB },
  { name: '100 candles, none in memory', feeds: [CANDLES], limit: 100, cacheMb: NO_CACHE_MB },
  { name: '100 order books, none in memory', feeds: [BOOKS], limit: 100, cacheMb: NO_CACHE_MB },
  {
    ...{ name: 'sealed pages of 100 candles, none in memory', feeds: [CANDLES], limit: 100, covered: true },
    cacheMb: NO_CACHE_MB,
  },
  ...[CANDLES, TRADES, BOOKS].map((feed) => ({
    ...{ name: `100 ${feed.dataset} from the disk`, feeds: [feed], limit: 100 },
    ...{ cacheMb: NO_CACHE_MB, fromDisk: true as const },
  })),
]

export async function packedReadFigures(size: Size): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-packed-'))
  const rows = size === 'full' ? 200_000 : 40_000
  try {
    const stores = openStores(parseStoreAddress(folder), systemClock)
    for (const environment of ['live', 'test'] as const) {
      const store = await stores.environment(environment)
      await fillExchange(store, rows)
      if (environment === 'live') await store.compact(0, { withUnfinal: true })
      await store.close()
    }
    const figures = await roomFigures(stores)
    for (const reads of READS) figures.push(await measure(folder, reads, rows))
    return figures
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The size of a row in the file, packed and as it was written. */
async function roomFigures(stores: Stores): Promise<Figure[]> {
  const { parts } = await stores.diskUse()
  const perRow = (environment: string, dataset: string) => {
    const part = parts.find((each) => each.environment === environment && each.part === dataset)
    return part?.rows ? part.bytes / part.rows : Number.NaN
  }
  return [CANDLES, TRADES, BOOKS].map(({ dataset, source }) => ({
    name: `bytes per row, packed: ${dataset} of ${source}`,
    value: perRow('live', dataset),
    detail: `${perRow('test', dataset).toFixed(0)} as written`,
  }))
}

async function measure(folder: string, reads: Reads, rows: number): Promise<Figure> {
  const stores = openStores(parseStoreAddress(folder, reads.cacheMb), systemClock)
  const [packed, plain] = [await stores.environment('live'), await stores.environment('test')]
  const { name, feeds, limit, order = 'asc', filters, stepMs, covered, inTurn, fromDisk } = reads
  const pages = fromDisk ? PAGES_FROM_DISK : PAGES
  const rowMs = ROW_MS[feeds[0]?.dataset as keyof typeof ROW_MS]
  // Filtered rows and sampling steps cover more time.
  const spanMs = Math.max(4 * limit * rowMs, (limit + 1) * (stepMs ?? 0))
  const places = Math.floor((rows * rowMs - spanMs) / 1_000)
  const random = seeded(5)
  let place = 0
  const round = (store: EnvironmentStore) => async () => {
    if (fromDisk) dropCache(folder)
    const started = { processor: process.threadCpuUsage(), ms: performance.now() }
    for (let i = 0; i < pages; i++) {
      place = inTurn ? (place + Math.floor((limit * rowMs) / 1_000)) % places : random.below(places)
      const from = START_MS + place * 1_000
      const query: PageQuery = {
        ...{ feeds, limit, order, separator: ',\n', range: { from, to: from + spanMs } },
        ...(filters === undefined ? {} : { filters }),
        ...(stepMs === undefined ? {} : { stepMs }),
      }
      const { count } = covered
        ? (await store.coveredPage({ ...query, coverageTo: from + spanMs })).page
        : await store.series.page(query)
      if (count !== limit) throw new Error(`${name}: a page of ${count} rows`)
    }
    if (fromDisk) return pages / ((performance.now() - started.ms) / 1_000)
    const { user, system } = process.threadCpuUsage(started.processor)
    return pages / ((user + system) / 1_000_000)
  }
  try {
    const speed = await ratio(ROUNDS, { subject: round(packed), limit: round(plain) }, WARM_ROUNDS)
    return {
      name: `packed against unpacked: ${name}`,
      ...(reads.atLeast === undefined ? {} : { atLeast: reads.atLeast }),
      value: speed.ratio,
      detail: `${speed.subject.toFixed(0)} pages per second${fromDisk ? '' : ' of the processor'}, unpacked ${speed.limit.toFixed(0)}`,
    }
  } finally {
    await Promise.all([packed.close(), plain.close()])
  }
}

function dropCache(folder: string): void {
  for (const file of globSync('**/*.db*', { cwd: folder }))
    execFileSync('dd', [`if=${join(folder, file)}`, 'iflag=nocache', 'count=0', 'status=none'])
}

/**
 * The service on PostgreSQL against what it is made of: bare prepared queries and inserts of `pg`, on the same table
 * with the same indexes, over as many connections, on the same server. Skipped where PostgreSQL is not installed.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { type CandleInput, encodeCandle } from '../../src/core/rows/candle.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { openStores, parseStoreAddress } from '../../src/store/open-stores.ts'
import type { Cluster } from '../../test/postgres/cluster.ts'
import { CANDLES, candleAt, fillCandles } from '../fill-candles.ts'
import { type Figure, median, ratio, type Size } from '../frame.ts'
import { httpGet, load } from '../load.ts'
import { onCluster, storedIn } from '../on-cluster.ts'
import { type BenchService, startBenchService } from '../processes.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const PAGE_ROWS = 100
const CONNECTIONS = 16
const ROUND_MS = 1_000
const ROUNDS = 5
/** The service has far more code to compile than a bare query and reaches its full speed after this many pages. */
const WARM_PAGES = 40_000
const APPEND_ROWS = 30_000
const BATCH_ROWS = 5_000
const PROCESSES = 3
/** A fixed request rate, because at full speed a single process would answer in larger bunches. */
const SPREAD = { connections: 6, pauseMs: 12, durationMs: 3_000 }
const REST_MS = 5_000
const MONTHS = 24
const LOOKS = 400
const ROWS = { usual: { small: 100_000, large: 2_000_000 }, full: { small: 500_000, large: 50_000_000 } }

const PAGE_OF_FEED = `SELECT text FROM series_candles WHERE feed_id = $1 AND ts >= $2 AND ts < $3 ORDER BY ts LIMIT ${PAGE_ROWS}`

export const postgresPageFigures = () => onCluster(pageFigures)
export const postgresAppendFigures = () => onCluster(async (cluster) => [await appendFigure(cluster)])
export const postgresPartitionFigures = (size: Size) =>
  onCluster((cluster) => partitionsFigures(cluster, ROWS[size]))

const storeIn = (cluster: Cluster, schema: string, pool = 20) =>
  `${cluster.address}?schema=${schema}&pool_size=${pool}`

async function pageFigures(cluster: Cluster): Promise<Figure[]> {
  const store = storeIn(cluster, 'pages', CONNECTIONS)
  const startMs = await fillCandles(store)
  await cluster.query('VACUUM ANALYZE')
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-pages-'))
  const embeddedStartMs = await fillCandles(folder)
  const environment = { TAPELINE_SANDBOX: 'off', ...storedIn(store) }
  const services: BenchService[] = []
  const clients = await bareClients(cluster, 'pages_test', CONNECTIONS)
  try {
    services.push(await startBenchService({ environment }))
    const [service] = services as [BenchService]
    const embedded = await startBenchService({ folder, environment: { TAPELINE_SANDBOX: 'off' } })
    services.push(embedded)
    const feedId = Number((await clients[0]?.query('SELECT id FROM feeds'))?.rows[0].id)
    let offset = 1
    const next = () => startMs + (offset++ % (CANDLES - PAGE_ROWS)) * MINUTE_MS
    const bare = async () => {
      const endsMs = performance.now() + ROUND_MS
      let count = 0
      await Promise.all(
        clients.map(async (client) => {
          while (performance.now() < endsMs) {
            const fromMs = next()
            const { rows } = await client.query({
              name: 'page',
              text: PAGE_OF_FEED,
              values: [feedId, fromMs, fromMs + PAGE_ROWS * MINUTE_MS],
            })
            if (rows.map(({ text }) => text).join(',').length === 0) throw new Error('an empty page')
            count += 1
          }
        }),
      )
      return count / (ROUND_MS / SECOND_MS)
    }
    await warm(service, () => pageAt(next(), service))
    const uncached = await ratio(ROUNDS, {
      limit: bare,
      subject: () => speed(service, () => pageAt(next(), service)),
    })
    const same = pageAt(startMs, service)
    const embeddedSame = pageAt(embeddedStartMs, embedded)
    await warm(embedded, () => embeddedSame)
    await warm(service, () => same)
    const repeated = await ratio(ROUNDS, {
      limit: () => speed(embedded, () => embeddedSame),
      subject: () => speed(service, () => same),
    })
    await embedded.stop()
    services.pop()
    for (let i = 1; i < PROCESSES; i++) services.push(await startBenchService({ environment }))
    const spent = await processorTime(cluster, services, next)
    return [
      {
        name: `PostgreSQL: ${PAGE_ROWS}-row page, uncached / bare query`,
        ...{ atLeast: 0.6, value: uncached.ratio },
        detail: `${Math.round(uncached.subject)} of ${Math.round(uncached.limit)} a second, ${CONNECTIONS} connections`,
      },
      {
        name: `PostgreSQL: ${PAGE_ROWS}-row page, repeated / embedded engine`,
        ...{ atLeast: 0.9, value: repeated.ratio },
        detail: `${Math.round(repeated.subject)} of ${Math.round(repeated.limit)} requests/s`,
      },
      {
        name: `PostgreSQL: processor time of a page, ${PROCESSES} processes / one, each with the same load`,
        ...{ atMost: 1.15, value: spent.same.ratio },
        detail: spent.same.detail,
      },
      {
        name: `PostgreSQL: processor time of a page, ${PROCESSES} processes / one with the load of all`,
        ...{ value: spent.spread.ratio },
        detail: spent.spread.detail,
      },
    ]
  } finally {
    for (const service of services) await service.stop()
    for (const client of clients) await client.end()
    rmSync(folder, { recursive: true, force: true })
  }
}

function pageAt(fromMs: number, { key }: BenchService): string {
  const [from, to] = [fromMs, fromMs + PAGE_ROWS * MINUTE_MS].map((ms) => new Date(ms).toISOString())
  const query = `symbol=BTC&source=cexa&interval=1m&limit=${PAGE_ROWS}&start=${from}&end=${to}`
  return httpGet(`/v1/candles?${query}`, { 'X-API-Key': key })
}

async function speed({ port }: BenchService, request: () => string): Promise<number> {
  const result = await load({ port, connections: CONNECTIONS, durationMs: ROUND_MS, request })
  if (result.statuses.size !== 1 || !result.statuses.has(200))
    throw new Error(`answers were ${JSON.stringify([...result.statuses])}`)
  return result.requestsPerSecond
}

async function warm(service: BenchService, request: () => string): Promise<void> {
  for (let pages = 0; pages < WARM_PAGES; ) pages += await speed(service, request)
}

/**
 * Milliseconds of processor time that a page adds to what the processes and the server need when idle, in turn: one
 * service, several of which each has as much to do, and one that has as much to do as these together. A busier process
 * does more in each turn and pays less for each page, whether there are others or not, so only the first two show what
 * several processes on one database cost.
 */
async function processorTime(cluster: Cluster, services: readonly BenchService[], next: () => number) {
  const spentMs = () => services.reduce((sum, { pid }) => sum + treeMs(pid), treeMs(cluster.pid))
  const spent = async <R>(act: () => Promise<R>) => {
    const [before, started] = [spentMs(), performance.now()]
    const result = await act()
    return { result, ms: spentMs() - before, seconds: (performance.now() - started) / SECOND_MS }
  }
  const rest = await spent(() => wait(REST_MS))
  const round = async (asked: readonly BenchService[], times = 1) => {
    const { result, ms, seconds } = await spent(() =>
      Promise.all(
        asked.map((service) =>
          load({
            ...SPREAD,
            ...{ port: service.port, connections: SPREAD.connections * times },
            request: () => pageAt(next(), service),
          }),
        ),
      ),
    )
    const requests = result.reduce((sum, { latenciesMs }) => sum + latenciesMs.length, 0)
    return (ms - (rest.ms / rest.seconds) * seconds) / requests
  }
  // Each process warms up alone and at full speed; with its share of the load this would take three times as long.
  for (const service of services) await warm(service, () => pageAt(next(), service))
  const one = services.slice(0, 1)
  const subject = () => round(services)
  const compared = async (limit: () => Promise<number>) => {
    const measured = await ratio(ROUNDS, { limit, subject }, 0)
    const [several, alone] = [measured.subject, measured.limit].map((each) => each.toFixed(2))
    return {
      ratio: measured.ratio,
      detail: `${several} and ${alone} ms above rest, the server's included`,
    }
  }
  return { same: await compared(() => round(one)), spread: await compared(() => round(one, PROCESSES)) }
}

/** Processor time of a process and of all below it, those that have ended included. */
function treeMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return ticks * 10 + children.reduce((sum, child) => sum + treeMs(Number(child)), 0)
}

async function bareClients(cluster: Cluster, schema: string, count: number): Promise<Client[]> {
  const clients = Array.from({ length: count }, () => new Client(cluster.address))
  for (const client of clients) {
    await client.connect()
    await client.query(`SET search_path = ${schema}`)
  }
  return clients
}

/** Rows per second through the port, against a loop of inserts into a table of the same shape. */
async function appendFigure(cluster: Cluster): Promise<Figure> {
  const feed = { dataset: 'candles', source: 'cexa', symbol: 'BTC', interval: '1s' } as const
  const startMs = Date.UTC(2026, 0, 1)
  const candles = (from: number, count: number): CandleInput[] =>
    Array.from({ length: count }, (_, i) => candleAt(from + i, startMs + (from + i) * SECOND_MS))
  const store = await openStores(parseStoreAddress(storeIn(cluster, 'append')), systemClock).environment(
    'test',
  )
  await store.write({ rows: [{ feed, rows: candles(0, 1) }] })
  const [client] = (await bareClients(cluster, 'append_test', 1)) as [Client]
  await client.query('CREATE TABLE bare (LIKE series_candles INCLUDING ALL)')
  let next = 1
  let bareNext = 1
  const batches = (from: number) =>
    Array.from({ length: APPEND_ROWS / BATCH_ROWS }, (_, i) => candles(from + i * BATCH_ROWS, BATCH_ROWS))
  try {
    const measured = await ratio(ROUNDS, {
      async subject() {
        const all = batches(next)
        next += APPEND_ROWS
        const started = performance.now()
        for (const rows of all) await store.write({ rows: [{ feed, rows }] })
        return APPEND_ROWS / ((performance.now() - started) / SECOND_MS)
      },
      async limit() {
        const all = batches(bareNext).map((rows) => rows.map((row) => encodeCandle(feed, row)))
        bareNext += APPEND_ROWS
        const started = performance.now()
        for (const rows of all)
          await client.query({
            name: 'insert',
            text: `INSERT INTO bare SELECT 1, ts, 0, 0, NULL, 1, 1, true, '', NULL, text
              FROM unnest($1::bigint[], $2::text[]) AS i (ts, text)`,
            values: [rows.map(({ ts }) => ts), rows.map(({ text }) => text)],
          })
        return APPEND_ROWS / ((performance.now() - started) / SECOND_MS)
      },
    })
    const [subject, limit] = [measured.subject, measured.limit].map(Math.round)
    return {
      name: 'PostgreSQL: append / bare loop of inserts',
      atLeast: 0.6,
      value: measured.ratio,
      detail: `${subject} of ${limit} rows/s, ${BATCH_ROWS} at a time`,
    }
  } finally {
    await client.end()
    await store.close()
  }
}

/** A table of one feed whose rows were made in the database. */
async function filledTable(cluster: Cluster, schema: string, count: number, months: number) {
  const store = await openStores(parseStoreAddress(storeIn(cluster, schema)), systemClock).environment('test')
  const feed = { dataset: 'candles', source: 'cexa', symbol: 'BTC', interval: '1s' } as const
  const starts = Array.from({ length: months }, (_, month) => Date.UTC(2024, month, 1))
  // One row of each month makes its partition.
  for (const time of starts) await store.write({ rows: [{ feed, rows: [candleAt(0, time)] }] })
  const [client] = (await bareClients(cluster, `${schema}_test`, 1)) as [Client]
  const perMonth = Math.floor(count / months)
  const stepMs = Math.floor((28 * 86_400_000) / perMonth)
  for (const time of starts)
    await client.query(
      `INSERT INTO series_candles SELECT f.id, $1::bigint + n * $2::bigint, 0, 0, NULL, 1, 1, true, '', NULL, r.text
        FROM generate_series(1, $3::bigint) n, feeds f, (SELECT text FROM series_candles LIMIT 1) r`,
      [time, stepMs, perMonth],
    )
  await client.query('VACUUM (FREEZE, ANALYZE) series_candles')
  await client.end()
  let next = Math.ceil(((starts.at(-1) ?? 0) + (perMonth + 1) * stepMs) / SECOND_MS)
  return {
    /** Milliseconds. */
    async page(look: number): Promise<number> {
      const from = (starts[look % months] ?? 0) + ((look * 7_919) % (perMonth - PAGE_ROWS)) * stepMs
      const started = performance.now()
      const page = await store.series.page({
        ...{ feeds: [feed], range: { from, to: from + 2 * PAGE_ROWS * stepMs }, order: 'asc' },
        ...{ limit: PAGE_ROWS, separator: ',' },
      })
      if (page.count !== PAGE_ROWS) throw new Error(`a page of ${page.count} rows`)
      return performance.now() - started
    },
    /** Rows per second. */
    async append(): Promise<number> {
      const rows = Array.from({ length: BATCH_ROWS }, (_, i) => candleAt(i, (next + i) * SECOND_MS))
      next += BATCH_ROWS
      const started = performance.now()
      await store.write({ rows: [{ feed, rows }] })
      return BATCH_ROWS / ((performance.now() - started) / SECOND_MS)
    },
    close: () => store.close(),
  }
}

/** How long a page takes, and how fast rows are appended, in a table of many partitions against one of few rows. */
async function partitionsFigures(
  cluster: Cluster,
  rows: { readonly small: number; readonly large: number },
): Promise<Figure[]> {
  const small = await filledTable(cluster, 'small', rows.small, 1)
  const large = await filledTable(cluster, 'large', rows.large, MONTHS)
  try {
    const pages: { small: number; large: number }[] = []
    for (let look = 0; look < LOOKS; look++) {
      const page = { small: await small.page(look), large: await large.page(look) }
      if (look >= LOOKS / 4) pages.push(page)
    }
    const [smallMs, largeMs] = [
      median(pages.map((page) => page.small)),
      median(pages.map((page) => page.large)),
    ]
    const appended = await ratio(ROUNDS, { limit: small.append, subject: large.append })
    return [
      {
        name: `PostgreSQL: page of ${rows.large} rows in ${MONTHS} partitions / ${rows.small}`,
        ...{ atMost: 1.5, value: largeMs / smallMs },
        detail: `${largeMs.toFixed(2)} and ${smallMs.toFixed(2)} ms at the median`,
      },
      {
        name: `PostgreSQL: append to ${rows.large} rows in ${MONTHS} partitions / to ${rows.small}`,
        ...{ atLeast: 0.6, value: appended.ratio },
        detail: `${Math.round(appended.subject)} and ${Math.round(appended.limit)} rows/s, ${BATCH_ROWS} at a time`,
      },
    ]
  } finally {
    await small.close()
    await large.close()
  }
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { storedInterval } from '../../src/core/interval.ts'
import { createLevelBook } from '../../src/core/level-book.ts'
import { composeUpDown, composeYesNo } from '../../src/core/market-snapshot.ts'
import { microOf } from '../../src/core/micro.ts'
import type { MarketType } from '../../src/core/rows/market.ts'
import type { PredmktASnapshotInput, PredmktBSnapshotInput } from '../../src/core/rows/snapshot.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { startSandboxPredictions } from '../../src/sandbox/predictions/run.ts'
import type { TrueMarket, Truth } from '../../src/sandbox/predictions/truth.ts'
import { openSqliteEnvironment } from '../../src/store/sqlite/environment.ts'
import type { Figure } from '../frame.ts'

const GRID_MS = 500
/** As the recorder samples strikes of an hour or a day. */
const STRIKE_GRID_MS = 5_000
const SAMPLED_MS = 5 * 60_000
const DAY_MS = 86_400_000
const FROM_MS = Date.parse('2026-11-15T10:00:00Z')
const GIB = 1024 ** 3

/** How many markets of a kind run at once, all day, over the four symbols. */
interface Kind {
  readonly name: string
  readonly type: MarketType
  readonly markets: readonly TrueMarket[]
  readonly atOnce: number
}

/**
 * Books of one symbol's running markets, sampled as the recorder does (a row when a book differs from the row
 * before), stored, and the size of the file counted up to a day of all four symbols.
 */
export async function bookFigures(): Promise<Figure[]> {
  const sandbox = await startSandboxPredictions({ seed: 3 })
  const figures: Figure[] = []
  let day = 0
  try {
    for (const kind of kindsOf(sandbox.truth)) {
      const bytesPerHour = await measure(sandbox.truth, kind)
      day += bytesPerHour * 24 * kind.atOnce
      figures.push({
        name: `books, ${kind.name}: KiB per market-hour`,
        value: bytesPerHour / 1024,
        detail: `${kind.atOnce} markets at once`,
      })
    }
  } finally {
    await sandbox.close()
  }
  figures.push({
    name: 'a day of all simulated prediction markets: GiB of books',
    atMost: 1,
    value: day / GIB,
    detail: 'four symbols, light rows and books of up to 50 levels',
  })
  return figures
}

function kindsOf(truth: Truth): Kind[] {
  const toMs = FROM_MS + SAMPLED_MS
  const running = (venue: 'polymarket' | 'kalshi') =>
    truth
      .markets(venue, toMs, toMs + 2 * DAY_MS)
      .filter(({ symbol, startMs }) => symbol === 'BTC' && startMs <= FROM_MS)
  const upDowns = Map.groupBy(running('polymarket'), ({ kind }) => kind)
  const strikes = Map.groupBy(running('kalshi'), ({ kind }) => kind)
  return [
    ...[...upDowns].map(([kind, markets]) => ({
      name: `Up/Down ${kind}`,
      type: kind as MarketType,
      markets: markets.slice(0, 2),
      atOnce: 4 * markets.length,
    })),
    ...[...strikes].map(([kind, markets]) => ({
      name: `yes/no ${kind}`,
      type: '1h' as MarketType,
      markets: markets.filter((_, index) => index % Math.ceil(markets.length / 12) === 0),
      atOnce: 4 * markets.length,
    })),
  ]
}

/** Bytes per market and hour. */
async function measure(truth: Truth, kind: Kind): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-books-'))
  const file = join(folder, 'books.db')
  const store = await openSqliteEnvironment({ file, clock: systemClock })
  const source = kind.markets[0]?.venue === 'kalshi' ? 'predmkt_b' : 'predmkt_a'
  const feed = { dataset: 'snapshots', source, symbol: 'BTC', interval: storedInterval(kind.type) } as const
  try {
    const empty = sizeOf(file)
    for (let fromMs = FROM_MS; fromMs < FROM_MS + SAMPLED_MS; fromMs += 10_000) {
      const rows = kind.markets.flatMap((market) => sample(truth, market, fromMs, fromMs + 10_000))
      await store.series.append([{ feed, rows }])
    }
    // A minute is packed when a later one begins.
    const last = kind.markets.flatMap((market) =>
      sample(truth, market, FROM_MS + SAMPLED_MS, FROM_MS + SAMPLED_MS + 1),
    )
    for (let i = 0; i < 4; i++)
      await store.series.append([
        { feed, rows: last.map((row) => ({ ...row, time: row.time + i * GRID_MS })) },
      ])
    await store.close()
    return ((sizeOf(file) - empty) / kind.markets.length) * (3_600_000 / SAMPLED_MS)
  } finally {
    await store.close().catch(() => {})
    rmSync(folder, { recursive: true, force: true })
  }
}

function sample(
  truth: Truth,
  market: TrueMarket,
  fromMs: number,
  toMs: number,
): (PredmktASnapshotInput | PredmktBSnapshotInput)[] {
  const rows: (PredmktASnapshotInput | PredmktBSnapshotInput)[] = []
  let slotMs = 0
  const isStrike = market.venue === 'kalshi' && market.kind !== '15M'
  for (let atMs = fromMs; atMs < toMs; atMs += isStrike ? STRIKE_GRID_MS : GRID_MS) {
    const told = truth.book(market.name, atMs)
    if (told === undefined || told.slotMs === slotMs) continue
    slotMs = told.slotMs
    const micro = (levels: [string, string][]) =>
      levels.map(([price, size]): [number, number] => [microOf(price) ?? 0, microOf(size) ?? 0])
    const [bids, asks] = [micro(told.bids), micro(told.asks)]
    const book = createLevelBook()
    book.replace(bids, asks)
    if (market.venue === 'kalshi') {
      rows.push(
        composeYesNo(atMs, {
          ticker: market.name,
          book,
          lastPrice: '0.5',
          volume: '1200',
          openInterest: '800',
        }),
      )
      continue
    }
    const down = createLevelBook()
    const mirror = ([price, size]: [number, number]): [number, number] => [1_000_000 - price, size]
    down.replace(asks.map(mirror), bids.map(mirror))
    rows.push(
      composeUpDown(atMs, {
        marketId: market.conditionId ?? '',
        slug: market.name,
        question: `Bitcoin Up or Down - ${market.name}`,
        tokenUp: market.tokens?.[0] ?? '',
        tokenDown: market.tokens?.[1] ?? '',
        up: book,
        down,
        lastUp: '0.5',
        lastDown: '0.5',
        referencePrice: truth.spotPrice('BTC', atMs).toFixed(4),
      }),
    )
  }
  return rows
}

function sizeOf(file: string): number {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    const { bytes } = database
      .prepare(
        'SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size) - (SELECT freelist_count FROM pragma_freelist_count) * (SELECT page_size FROM pragma_page_size) AS bytes',
      )
      .get() as { bytes: number }
    return bytes
  } finally {
    database.close()
  }
}

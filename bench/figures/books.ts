import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { storedInterval } from '../../src/core/interval.ts'
import { composeUpDown, composeYesNo } from '../../src/core/market-snapshot.ts'
import { microOf } from '../../src/core/micro.ts'
import { OrderBook } from '../../src/core/order-book.ts'
import type { MarketType } from '../../src/core/rows/market.ts'
import type { UpDownSnapshotInput, YesNoSnapshotInput } from '../../src/core/rows/snapshot.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { openStores, parseStoreAddress } from '../../src/store/open-stores.ts'
import type { PredictionTruth, TrueMarket, TrueMarketBook } from '../../test/sandbox/prediction-truth.ts'
import { startTestPredictions } from '../../test/sandbox/start.ts'
import type { Figure } from '../frame.ts'

const GRID_MS = 500
/** The recorder writes an unchanged book again after this long. */
const KEEP_ALIVE_MS = 60_000
const SAMPLE_BEFORE_MS = 60_000
/** Two blocks. */
const SAMPLED_MS = 20 * 60_000
const STEP_MS = 10_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const FROM_MS = Date.parse('2026-11-15T10:00:00Z')
const TO_MS = FROM_MS + SAMPLED_MS
const SYMBOLS_COUNT = 4
/** Of hundreds of strikes, only every n-th is measured. */
const STRIKES_LOOKED_AT = 10
const GIB = 1024 ** 3

interface Kind {
  readonly name: string
  readonly type: MarketType
  /** Those that are sampled. */
  readonly markets: readonly TrueMarket[]
  /** How many run at once, over all symbols. */
  readonly atOnce: number
}

/**
 * Books of one symbol's markets, sampled as the recorder does on the grid of half a second (a row when a book differs
 * from the row before, or a minute after it), stored, and the size of the file extrapolated to a day of all symbols.
 */
export async function bookFigures(): Promise<Figure[]> {
  const sandbox = await startTestPredictions({ seed: 3 })
  const figures: Figure[] = []
  let day = 0
  let tails = 0
  try {
    for (const kind of kindsOf(sandbox.truth)) {
      const { bytesPerHour, tailBytes, rowsPerHour } = await measure(sandbox.truth, kind)
      day += bytesPerHour * 24 * kind.atOnce
      tails += tailBytes * kind.atOnce
      figures.push({
        name: `books, ${kind.name}: KiB per market-hour`,
        value: bytesPerHour / 1024,
        detail: `${rowsPerHour.toFixed(0)} rows an hour, ${kind.atOnce.toFixed(0)} markets at once`,
      })
    }
  } finally {
    await sandbox.close()
  }
  figures.push({
    name: 'a day of all simulated prediction markets: GiB of books',
    atMost: 1,
    value: (day + tails) / GIB,
    detail: `four symbols, 500 ms, books of every level; ${(tails / 1024 ** 2).toFixed(0)} MiB wait for their block`,
  })
  return figures
}

function kindsOf(truth: PredictionTruth): Kind[] {
  const durationOf = ({ startMs, endMs }: TrueMarket) => (endMs - startMs > HOUR_MS ? ' of a day' : '')
  const groups = Map.groupBy(
    (['polymarket', 'kalshi'] as const)
      .flatMap((venue) => truth.markets(venue, FROM_MS, TO_MS + 2 * DAY_MS))
      .filter((market) => market.symbol === 'BTC' && overlapMs(market) > 0),
    (market) =>
      market.venue === 'polymarket' ? `Up/Down ${market.kind}` : `yes/no ${market.kind}${durationOf(market)}`,
  )
  return [...groups].map(([name, markets]) => {
    const atOnce = markets.reduce((sum, market) => sum + overlapMs(market), 0) / SAMPLED_MS
    const each = Math.max(1, Math.floor(atOnce / STRIKES_LOOKED_AT))
    return {
      name,
      type: (markets[0]?.venue === 'polymarket' ? markets[0].kind : '1h') as MarketType,
      markets: markets.filter((_, index) => index % each === 0),
      atOnce: atOnce * SYMBOLS_COUNT,
    }
  })
}

function overlapMs({ startMs, endMs }: TrueMarket): number {
  return Math.max(0, Math.min(endMs, TO_MS) - Math.max(startMs - SAMPLE_BEFORE_MS, FROM_MS))
}

async function measure(
  truth: PredictionTruth,
  kind: Kind,
): Promise<{ bytesPerHour: number; tailBytes: number; rowsPerHour: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-books-'))
  const file = join(folder, 'test.db')
  const store = await openStores(parseStoreAddress(folder), systemClock).environment('test')
  const source = kind.markets[0]?.venue === 'kalshi' ? 'predmkt_b' : 'predmkt_a'
  const feed = { dataset: 'snapshots', source, symbol: 'BTC', interval: storedInterval(kind.type) } as const
  const samplers = kind.markets.map((market) => samplerOf(truth, market))
  let rowsWritten = 0
  try {
    const empty = sizeOf(file)
    for (let fromMs = FROM_MS; fromMs < TO_MS; fromMs += STEP_MS) {
      const rows = samplers.flatMap((sample) => sample(fromMs, fromMs + STEP_MS))
      rowsWritten += rows.length
      await store.write({ rows: [{ feed, rows }] })
    }
    // Tails are packed when the next span starts.
    const [first] = kind.markets
    if (first !== undefined) {
      const [row] = samplerOf(truth, first, true)(TO_MS, TO_MS + GRID_MS)
      for (let i = 0; i < 2 * kind.markets.length; i++)
        if (row !== undefined)
          await store.write({ rows: [{ feed, rows: [{ ...row, time: TO_MS + i * GRID_MS }] }] })
    }
    await store.close()
    const full = sizeOf(file)
    const hours = kind.markets.reduce((sum, market) => sum + overlapMs(market), 0) / HOUR_MS
    return {
      bytesPerHour: (full.used - empty.used) / hours,
      rowsPerHour: rowsWritten / hours,
      tailBytes: full.free / (hours * (HOUR_MS / SAMPLED_MS)),
    }
  } finally {
    await store.close().catch(() => {})
    rmSync(folder, { recursive: true, force: true })
  }
}

type BookInput = UpDownSnapshotInput | YesNoSnapshotInput

/** Yields the rows of one time range after the other. */
function samplerOf(
  truth: PredictionTruth,
  market: TrueMarket,
  isAlways = false,
): (fromMs: number, toMs: number) => BookInput[] {
  let before = ''
  let lastMs = 0
  return (fromMs, toMs) => {
    const rows: BookInput[] = []
    for (let atMs = fromMs; atMs < toMs; atMs += GRID_MS) {
      if (!isAlways && (atMs < market.startMs - SAMPLE_BEFORE_MS || atMs > market.endMs)) continue
      const book = truth.book(market.name, atMs)
      if (book === undefined) continue
      const levels = `${book.bids}|${book.asks}`
      if (levels === before && atMs - lastMs < KEEP_ALIVE_MS) continue
      before = levels
      lastMs = atMs
      rows.push(composed(truth, market, book, atMs))
    }
    return rows
  }
}

function composed(
  truth: PredictionTruth,
  market: TrueMarket,
  levels: TrueMarketBook,
  atMs: number,
): BookInput {
  const micro = (side: [string, string][]) =>
    side.map(([price, size]): [number, number] => [microOf(price) ?? 0, microOf(size) ?? 0])
  const [bids, asks] = [micro(levels.bids), micro(levels.asks)]
  const book = new OrderBook()
  book.replace(bids, asks)
  // The venue's figures change with the trades, about one every seven seconds.
  const moved = Math.floor(atMs / 7_000)
  if (market.venue === 'kalshi')
    return composeYesNo(atMs, {
      ticker: market.name,
      book,
      lastPrice: `0.${10 + (moved % 80)}`,
      volume: `${moved % 100_000}`,
      openInterest: `${(moved % 100_000) * 0.6}`,
    })
  const down = new OrderBook()
  const mirror = ([price, size]: [number, number]): [number, number] => [1_000_000 - price, size]
  down.replace(asks.map(mirror), bids.map(mirror))
  return composeUpDown(atMs, {
    marketId: market.conditionId ?? '',
    slug: market.name,
    question: `Bitcoin Up or Down - ${market.name}`,
    tokenUp: market.tokens?.[0] ?? '',
    tokenDown: market.tokens?.[1] ?? '',
    up: book,
    down,
    lastUp: `0.${10 + (moved % 80)}`,
    lastDown: `0.${90 - (moved % 80)}`,
    referencePrice: truth.spotPrice('BTC', atMs).toFixed(4),
  })
}

function sizeOf(file: string): { used: number; free: number } {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    const pragma = (name: string) => Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0])
    const [pages, free, bytes] = [pragma('page_count'), pragma('freelist_count'), pragma('page_size')]
    return { used: (pages - free) * bytes, free: free * bytes }
  } finally {
    database.close()
  }
}

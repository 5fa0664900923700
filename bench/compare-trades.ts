/** What a service recorded of the simulated exchanges, requested over HTTP and compared with what happened. */
import { crc32 } from 'node:zlib'
import { createWorld } from '../sandbox/exchanges/world/world.ts'
import { type AssetSymbol, SYMBOLS } from '../src/core/symbol.ts'
import { createExchangeTruth, type ExchangeTruth } from '../test/sandbox/exchange-truth.ts'
import type { BenchService } from './processes.ts'

/** The seed of a service that was given none. */
const SEED = crc32('tapeline')
const SECOND_MS = 1_000
const PAGE_ROWS = 10_000
/** Single trades are many: those of the first seconds represent all. */
const SINGLE_TRADES_MS = 10_000

export const EXCHANGES = [
  { venue: 'spot', source: 'cexa' },
  { venue: 'futures', source: 'cexa_futures' },
  { venue: 'perp', source: 'perpdex' },
] as const

interface RecordedRange {
  readonly service: BenchService
  readonly tradesPerSecond: number
  readonly fromMs: number
  readonly toMs: number
}
type Row = Record<string, unknown> & { timestamp: string }

/** How many trades are in seconds that are stored, closed and equal to what happened; and what is wrong. */
export async function rightTrades(range: RecordedRange): Promise<{ trades: number; wrong: string[] }> {
  const { tradesPerSecond, fromMs, toMs } = range
  const world = createWorld({ seed: SEED, tradesPerSecond })
  const truth = createExchangeTruth(world)
  const wrong: string[] = []
  let trades = 0
  for (const { venue, source } of EXCHANGES) {
    for (const symbol of SYMBOLS) {
      const rows = await read(range, `/v1/candles?source=${source}&symbol=${symbol}&interval=1s`, toMs)
      const byTime = new Map(rows.map((row) => [Date.parse(row.timestamp), row]))
      for (const kline of truth.klines(venue, symbol, '1s', fromMs, toMs)) {
        const row = byTime.get(kline.openMs)
        if (isRight(row, kline, venue !== 'perp')) trades += kline.trades
        else wrong.push(`${source} ${symbol} ${new Date(kline.openMs).toISOString()}: ${JSON.stringify(row)}`)
      }
      if (venue === 'perp') wrong.push(...(await compareSingles(range, truth, symbol)))
    }
  }
  return { trades, wrong }
}

function isRight(
  row: Row | undefined,
  kline: ReturnType<ExchangeTruth['klines']>[number],
  hasCount: boolean,
): boolean {
  if (row === undefined || row.closed !== true) return false
  if (hasCount && row.num_trades !== kline.count) return false
  return (['open', 'high', 'low', 'close', 'volume'] as const).every(
    (name) => Number(row[name]) === Number(kline[name]),
  )
}

async function compareSingles(
  range: RecordedRange,
  truth: ExchangeTruth,
  symbol: AssetSymbol,
): Promise<string[]> {
  const toMs = range.fromMs + SINGLE_TRADES_MS
  const rows = await read(range, `/v1/trades?source=perpdex&symbol=${symbol}`, toMs)
  const text = (id: unknown, timeMs: number, price: unknown, size: unknown, side: unknown) =>
    [id, timeMs, Number(price), Number(size), side].join()
  const own = rows.map((row) => text(row.trade_id, Date.parse(row.timestamp), row.price, row.size, row.side))
  const real = truth
    .trades('perp', symbol, range.fromMs, toMs)
    .map(({ tid, timeMs, price, size, side }) => text(tid, timeMs, price, size, side))
  return own.sort().join('\n') === real.sort().join('\n')
    ? []
    : [`perpdex ${symbol}: ${own.length} single trades, were ${real.length}`]
}

async function read({ service, fromMs }: RecordedRange, path: string, toMs: number): Promise<Row[]> {
  const rows: Row[] = []
  const range = `start=${new Date(fromMs).toISOString()}&end=${new Date(toMs).toISOString()}`
  for (let cursor = ''; ; ) {
    const answer = await fetch(
      `http://127.0.0.1:${service.port}${path}&${range}&limit=${PAGE_ROWS}${cursor === '' ? '' : `&after=${cursor}`}`,
      { headers: { 'X-API-Key': service.key } },
    )
    const page = (await answer.json()) as { data?: Row[]; meta: { next_cursor: string | null } }
    if (page.data === undefined) throw new Error(`${path}: ${answer.status}`)
    rows.push(...page.data.filter((row) => Date.parse(row.timestamp) < toMs + SECOND_MS))
    const next = page.meta.next_cursor
    if (next === null) return rows
    cursor = encodeURIComponent(next)
  }
}

/** Prediction markets of both venues in every stage, each with a price of its own, among many that are announced. */
import type { MarketInput } from '../../src/core/rows/market.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'

const MINUTE_MS = 60_000
const CANDLE_MS = 15 * MINUTE_MS
const HOUR_MS = 60 * MINUTE_MS
/** More than any list of the page holds. */
const ANNOUNCED = 600
/** Not the symbol that the explorer begins with. */
export const SYMBOL = 'ETH'

export type Venue = 'predmkt_a' | 'predmkt_b'
type Stage = 'running' | 'ended' | 'upcoming'

export interface KnownMarket {
  id: string
  source: Venue
  stage: Stage
  /** The probability of Up or Yes; no two markets have the same. */
  price: number
  candles: number
  endMs: number
}

const STAGES: readonly Stage[] = ['running', 'ended', 'upcoming']
const OF_EACH = 1

export async function fillPredictions(store: EnvironmentStore, nowMs: number): Promise<KnownMarket[]> {
  const candleMs = Math.floor(nowMs / CANDLE_MS) * CANDLE_MS
  const known = (['predmkt_a', 'predmkt_b'] as const).flatMap((source, place) =>
    STAGES.flatMap((stage, order) =>
      Array.from({ length: OF_EACH }, (_, index): KnownMarket => {
        const number = place * 20 + order * OF_EACH + index
        return {
          id: idOf(source, number),
          source,
          stage,
          // The first is so unlikely that room below its candles would reach under 0.
          price: number === 0 ? 0.012 : 0.02 * (number + 2),
          candles: { running: 1, ended: 2, upcoming: 0 }[stage],
          endMs: {
            running: candleMs + 2 * HOUR_MS,
            ended: candleMs - 2 * HOUR_MS,
            upcoming: candleMs + 5 * HOUR_MS,
          }[stage],
        }
      }),
    ),
  )
  const announced = (['predmkt_a', 'predmkt_b'] as const).flatMap((source) =>
    Array.from({ length: ANNOUNCED }, (_, index) =>
      marketOf(idOf(source, 1_000 + index), source, candleMs + 20 * HOUR_MS + index * MINUTE_MS, nowMs),
    ),
  )
  await store.write({
    markets: [...known.map(({ id, source, endMs }) => marketOf(id, source, endMs, nowMs)), ...announced],
  })
  for (const market of known) await fillMarket(store, market, { nowMs, candleMs })
  return known
}

const idOf = (source: Venue, number: number) =>
  source === 'predmkt_a'
    ? `0x${(number + 0xabc000).toString(16).padStart(64, '0')}`
    : `KXETHD-26NOV15-T${number}`

const tokensOf = (id: string) => {
  const number = Number.parseInt(id.slice(-6), 16)
  return [
    { tokenId: `${900_000_000 + number}`, outcome: 'Up' },
    { tokenId: `${800_000_000 + number}`, outcome: 'Down' },
  ]
}

function marketOf(id: string, source: Venue, endTime: number, nowMs: number): MarketInput {
  const isUpDown = source === 'predmkt_a'
  return {
    marketId: id,
    source,
    symbol: SYMBOL,
    ...(isUpDown ? { slug: `eth-updown-${id.slice(-6)}`, conditionId: id } : { ticker: id }),
    question: `Ethereum, ${id.slice(-6)}?`,
    marketType: '4h',
    startTime: endTime - 4 * HOUR_MS,
    endTime,
    active: endTime > nowMs,
    status: endTime > nowMs ? 'open' : 'closed',
    tokens: isUpDown ? tokensOf(id) : [],
  }
}

async function fillMarket(
  store: EnvironmentStore,
  market: KnownMarket,
  { nowMs, candleMs }: { nowMs: number; candleMs: number },
): Promise<void> {
  const { id, source, stage, price, candles, endMs } = market
  const [up] = tokensOf(id)
  const leg = source === 'predmkt_a' && up !== undefined ? up : { tokenId: null, outcome: null }
  const lastCandleMs = Math.min(candleMs, endMs - CANDLE_MS)
  const rows = Array.from({ length: candles }, (_, index) => ({
    time: lastCandleMs - index * CANDLE_MS,
    ...{ open: price, high: price + 0.004, low: price - 0.004, close: price, volume: 1234.5, closed: true },
    market: { marketId: id, ...leg },
  }))
  const seenMs = Math.floor(Math.min(nowMs - 4_000, endMs - 2_000) / 500) * 500
  const times = [seenMs - 60_000, seenMs]
  const sides = (mid: number) => ({
    bids: [[round(mid - 0.002), 10]] as const,
    asks: [[round(mid + 0.002), 20]] as const,
  })
  const books =
    source === 'predmkt_a'
      ? times.map((time) => ({
          ...{ time, marketId: id, question: null, tokenUp: leg.tokenId ?? '', tokenDown: `8${leg.tokenId}` },
          ...{ priceUp: price, priceDown: round(1 - price), up: sides(price), down: sides(1 - price) },
        }))
      : times.map((time) => ({ time, marketId: id, yes: sides(price), no: sides(1 - price) }))
  await store.write({
    rows: [
      { feed: { dataset: 'candles', source, symbol: SYMBOL, interval: '15m' }, rows },
      ...(stage === 'upcoming' && source === 'predmkt_b'
        ? []
        : [{ feed: { dataset: 'snapshots', source, symbol: SYMBOL, interval: '4h' } as const, rows: books }]),
    ],
  })
}

const round = (value: number) => Math.round(value * 1_000) / 1_000

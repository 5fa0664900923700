/** The second venue's crypto series: quarter-hour up/down, and hourly and daily events with many strikes. */
import { createHash } from 'node:crypto'
import { type AssetSymbol, SYMBOLS } from '../../../src/core/symbol.ts'
import { Lru } from '../../../src/kit/lru.ts'
import { hash32 } from '../../exchanges/world/hash.ts'
import type { Pause } from './life.ts'
import { fromNewYork, monthIndex, newYorkOffsetMs, newYorkTime } from './new-york.ts'
import type { Underlying } from './underlying.ts'
import { drawUnlisted, type Unlisted } from './unlisted.ts'

const KINDS = ['15M', 'D', 'range'] as const
type StrikeKind = (typeof KINDS)[number]

export interface StrikeSeries {
  readonly ticker: string
  readonly symbol: AssetSymbol
  readonly kind: StrikeKind
}

export interface StrikeEvent {
  readonly ticker: string
  readonly series: StrikeSeries
  readonly openMs: number
  readonly closeMs: number
  /** The close time with which it is first listed, earlier or later than the real one, and when the venue moves it. */
  readonly first: { readonly closeMs: number; readonly untilMs: number } | undefined
  /** The venue pauses trading for a while; orders stay. */
  readonly pause: Pause | undefined
  /** While lists leave out some or all of its markets, although they are traded. */
  readonly unlisted: Unlisted | undefined
  /** When the venue settles it, without faults. */
  readonly settledMs: number
  readonly createdMs: number
  /** Created on first access. */
  readonly markets: readonly StrikeMarket[]
}

export interface StrikeMarket {
  readonly ticker: string
  readonly id: string
  readonly event: StrikeEvent
  readonly strikeType: 'greater' | 'greater_or_equal' | 'less' | 'between'
  /** In dollars. The quarter-hour reference is unknown before the open. */
  readonly floor: number | undefined
  readonly cap: number | undefined
  readonly stream: number
}

const QUARTER_MS = 900_000
const HOUR_MS = 3_600_000
const DAILY_HOUR = 17
const STRIKES_PER_EVENT = 40
const CREATED_BEFORE_MS = 6 * HOUR_MS
/** Slightly more than are listed at once. */
const REMEMBERED_EVENTS = 1_000

/** Distance between strikes, and decimals of the settlement value. */
const GRIDS: Record<AssetSymbol, { step: number; decimals: number }> = {
  BTC: { step: 250, decimals: 2 },
  ETH: { step: 10, decimals: 2 },
  SOL: { step: 0.5, decimals: 4 },
  XRP: { step: 0.01, decimals: 4 },
}
const RANGE_TICKERS: Record<AssetSymbol, string> = { BTC: 'KXBTC', ETH: 'KXETH', SOL: 'KXSOLE', XRP: 'KXXRP' }

export const decimalsOf = (symbol: AssetSymbol): number => GRIDS[symbol].decimals

export function createStrikes(options: {
  seed: number
  world: Underlying
  perEvent?: number | undefined
  aheadMs?: number | undefined
  /** Whether hourly events may be paused, and may close earlier or later than first listed. */
  isChanging?: boolean | undefined
  /** From this time on, lists may leave out running markets. */
  unlistedFromMs?: number | undefined
}) {
  const { seed, world, perEvent = STRIKES_PER_EVENT } = options
  const createdBeforeMs = Math.min(CREATED_BEFORE_MS, options.aheadMs ?? CREATED_BEFORE_MS)
  const series: StrikeSeries[] = SYMBOLS.flatMap((symbol) =>
    KINDS.map((kind) => ({
      symbol,
      kind,
      ticker: kind === 'range' ? RANGE_TICKERS[symbol] : `KX${symbol}${kind}`,
    })),
  )
  const known = new Lru<string, StrikeEvent>({ maxEntries: REMEMBERED_EVENTS })

  const settlement = (event: { series: StrikeSeries; closeMs: number }): number => {
    const { symbol } = event.series
    const scale = 10 ** (8 - GRIDS[symbol].decimals)
    return Math.round(world.mean60E8(symbol, event.closeMs) / scale) / 10 ** GRIDS[symbol].decimals
  }

  /** An event is named after the time at which it regularly closes. */
  function build(one: StrikeSeries, namedMs: number): StrikeEvent {
    const ticker = `${one.ticker}-${closeText(one.kind, namedMs)}`
    const remembered = known.get(ticker)
    if (remembered !== undefined) return remembered
    const isDaily = one.kind !== '15M' && newYorkTime(namedMs).hour === DAILY_HOUR
    const openMs = namedMs - (one.kind === '15M' ? QUARTER_MS : isDaily ? 24 * HOUR_MS : HOUR_MS)
    const number = Math.floor(namedMs / QUARTER_MS)
    const isHourly = one.kind !== '15M' && !isDaily
    const changes =
      options.isChanging === true && isHourly
        ? drawChanges(seed, { number, openMs, namedMs, kind: one.kind })
        : undefined
    const closeMs = changes?.closeMs ?? namedMs
    let markets: readonly StrikeMarket[] | undefined
    const event: StrikeEvent = {
      ticker,
      series: one,
      openMs,
      closeMs,
      first: changes?.first,
      pause: changes?.pause,
      unlisted: drawUnlisted({
        ...{ seed, stream: 90 + KINDS.indexOf(one.kind), number, fromMs: openMs, toMs: closeMs },
        notBeforeMs: options.unlistedFromMs,
      }),
      createdMs: openMs - createdBeforeMs,
      settledMs: closeMs + 12_000 + (hash32(seed, 81, number) % 60_000),
      get markets() {
        markets ??= strikesOf(event)
        return markets
      },
    }
    known.set(ticker, event)
    return event
  }

  function strikesOf(event: StrikeEvent): StrikeMarket[] {
    const { symbol, kind } = event.series
    const make = (
      suffix: string,
      strikeType: StrikeMarket['strikeType'],
      floor: number | undefined,
      cap: number | undefined,
    ): StrikeMarket => {
      const ticker = `${event.ticker}-${suffix}`
      const digest = createHash('sha256').update(`${seed}|${ticker}`).digest()
      return {
        ticker,
        id: uuidOf(digest),
        event,
        strikeType,
        floor,
        cap,
        stream: digest.readUInt32LE(16) >>> 4,
      }
    }
    if (kind === '15M') {
      const reference = settlement({ series: event.series, closeMs: event.openMs })
      const minute = String(newYorkTime(event.closeMs).minute).padStart(2, '0')
      return [make(minute, 'greater_or_equal', reference, undefined)]
    }
    const { step, decimals } = GRIDS[symbol]
    const cent = 10 ** -decimals
    const exact = (value: number) => Number(value.toFixed(decimals))
    const centre = Math.round(world.price(symbol, event.openMs) / step) * step
    const levels = Array.from({ length: perEvent }, (_, i) => centre + (i - perEvent / 2) * step)
    if (kind === 'D')
      return levels.map((level) => {
        const strike = exact(level - cent)
        return make(`T${strike.toFixed(decimals)}`, 'greater', strike, undefined)
      })
    const [lowest, highest] = [levels[0] as number, exact((levels.at(-1) as number) + step - cent)]
    return [
      make(`T${exact(lowest)}`, 'less', undefined, exact(lowest)),
      ...levels.map((level) =>
        make(`B${exact(level + step / 2)}`, 'between', exact(level), exact(level + step - cent)),
      ),
      make(`T${highest}`, 'greater', highest, undefined),
    ]
  }

  const findEvent = (ticker: string): StrikeEvent | undefined => {
    const dash = ticker.indexOf('-')
    const one = series.find((candidate) => candidate.ticker === ticker.slice(0, dash))
    const closeMs = one === undefined ? undefined : readClose(one.kind, ticker.slice(dash + 1))
    if (one === undefined || closeMs === undefined) return undefined
    const event = build(one, closeMs)
    return event.ticker === ticker ? event : undefined
  }

  return {
    series,
    event: findEvent,
    market(ticker: string): StrikeMarket | undefined {
      const event = findEvent(ticker.slice(0, ticker.lastIndexOf('-')))
      return event?.markets.find((market) => market.ticker === ticker)
    },
    /** Events of a series that close in from < close ≤ to, in order. */
    between(one: StrikeSeries, fromMs: number, toMs: number): StrikeEvent[] {
      const step = one.kind === '15M' ? QUARTER_MS : HOUR_MS
      const found: StrikeEvent[] = []
      const lastMs = options.isChanging === true ? toMs + MOVED_BY_MS : toMs
      for (let namedMs = (Math.floor(fromMs / step) + 1) * step; namedMs <= lastMs; namedMs += step) {
        const event = build(one, namedMs)
        if (event.closeMs > fromMs && event.closeMs <= toMs) found.push(event)
      }
      return found
    },
    /** What the venue calls the expiration value, with the venue's decimals. */
    settlement,
    isYes(market: StrikeMarket) {
      const value = settlement(market.event)
      if (market.strikeType === 'greater') return value > (market.floor as number)
      if (market.strikeType === 'greater_or_equal') return value >= (market.floor as number)
      if (market.strikeType === 'less') return value < (market.cap as number)
      return value >= (market.floor as number) && value <= (market.cap as number)
    },
  }
}

const MINUTE_MS = 60_000
/** No contract is moved by more than this. */
export const MOVED_BY_MS = 30 * MINUTE_MS

/**
 * Of eight hourly events:
 *
 *   two close later than first listed   one of them is announced more than twenty minutes before the old close, the
 *                                       other one within a minute of it, before or after
 *   one closes earlier than listed      which is listed only once it has closed
 *   two are paused
 */
function drawChanges(
  seed: number,
  { number, openMs, namedMs, kind }: { number: number; openMs: number; namedMs: number; kind: StrikeKind },
): Pick<StrikeEvent, 'closeMs' | 'first' | 'pause'> {
  const drawn = (which: number, count: number) =>
    hash32(seed, 83 + which, number * 3 + KINDS.indexOf(kind)) % count
  const otherMs = namedMs - MOVED_BY_MS + drawn(1, 20 * 60) * 1_000
  const beginsMs = openMs + (5 + drawn(2, 30)) * MINUTE_MS + drawn(3, 60_000)
  const pause = { fromMs: beginsMs, toMs: beginsMs + (2 + drawn(5, 8)) * MINUTE_MS }
  const unchanged = { closeMs: namedMs, first: undefined, pause: undefined }
  switch (drawn(0, 8)) {
    case 0:
      return {
        ...unchanged,
        first: { closeMs: otherMs, untilMs: openMs + (1 + drawn(4, 5)) * MINUTE_MS },
      }
    case 1:
      return {
        ...unchanged,
        first: { closeMs: otherMs, untilMs: otherMs - MINUTE_MS + drawn(4, 2 * MINUTE_MS) },
      }
    case 2:
      return { ...unchanged, closeMs: otherMs, first: { closeMs: namedMs, untilMs: otherMs } }
    case 3:
    case 4:
      return { ...unchanged, pause }
  }
  return unchanged
}

/** 26APR1817 (hour) or 26APR160100 (hour and minute), New York time. */
function closeText(kind: StrikeKind, closeMs: number): string {
  const at = newYorkTime(closeMs)
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${two(at.year % 100)}${at.monthName.slice(0, 3).toUpperCase()}${two(at.day)}`
  return `${day}${two(at.hour)}${kind === '15M' ? two(at.minute) : ''}`
}

function readClose(kind: StrikeKind, text: string): number | undefined {
  const parts = /^(\d\d)([A-Z]{3})(\d\d)(\d\d)(\d\d)?$/.exec(text)
  const month = monthIndex(parts?.[2] ?? '?')
  if (parts === null || month < 0 || (kind === '15M') !== (parts[5] !== undefined)) return undefined
  const wall = Date.UTC(
    2000 + Number(parts[1]),
    month,
    Number(parts[3]),
    Number(parts[4]),
    Number(parts[5] ?? 0),
  )
  const closeMs = fromNewYork(wall)
  return closeMs + newYorkOffsetMs(closeMs) === wall ? closeMs : undefined
}

function uuidOf(digest: Buffer): string {
  const hex = digest.toString('hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-')
}

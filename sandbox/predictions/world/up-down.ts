/** The rolling Up/Down windows: their times and names, and the lookup from every name to its window. */
import { hash } from 'node:crypto'
import { type AssetSymbol, SYMBOL_NAMES, SYMBOLS } from '../../../src/core/symbol.ts'
import { Lru } from '../../../src/kit/lru.ts'
import { hash32 } from '../../exchanges/world/hash.ts'
import { clockText, fromNewYork, newYorkOffsetMs, newYorkTime } from './new-york.ts'
import { drawUnlisted, type Unlisted } from './unlisted.ts'

export const TENORS = ['5m', '15m', '1h', '4h', '24h'] as const
export type Tenor = (typeof TENORS)[number]

export interface UpDown {
  readonly index: number
  readonly symbol: AssetSymbol
  readonly tenor: Tenor
  readonly startMs: number
  readonly endMs: number
  /** When the catalogue shows it; the book opens some minutes later. */
  readonly listedMs: number
  readonly bookFromMs: number
  /** When the venue settles it, without faults. */
  readonly resolvedMs: number
  /** While lists leave it out. */
  readonly unlisted: Unlisted | undefined
  /** Both outcomes are paid the same, so nobody wins. */
  readonly isSplit: boolean
  readonly slug: string
  readonly question: string
  readonly seriesSlug: string
  readonly gammaId: string
  readonly eventId: string
  readonly version: 'v1' | 'v2'
  readonly conditionId: string
  /** Up comes first. Position ids in version 2. */
  readonly tokens: readonly [string, string]
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const STEP_MS = 5 * MINUTE_MS
const ORIGIN_MS = Date.UTC(2024, 0, 1)
const SERIES_COUNT = SYMBOLS.length * TENORS.length
/** Slightly more than are listed at once. */
const REMEMBERED = 3_000
/**
 * A window is listed at a random moment within this span, which begins `LISTED_AFTER_MS` after the earliest possible
 * moment.
 */
const LISTED_OVER_MS = 390 * MINUTE_MS
const LISTED_AFTER_MS = 6 * MINUTE_MS
const DEFAULT_AHEAD_MS = DAY_MS

/** Four-hour and daily windows by New York clocks are an hour longer when the clocks go back. */
export const MAX_WINDOW_MS: Record<Tenor, number> = {
  '5m': STEP_MS,
  '15m': 15 * MINUTE_MS,
  '1h': HOUR_MS,
  '4h': 5 * HOUR_MS,
  '24h': 25 * HOUR_MS,
}

const RECURRENCES: Record<Tenor, string> = {
  '5m': '5m',
  '15m': '15m',
  '1h': 'hourly',
  '4h': '4h',
  '24h': 'daily',
}

export const recurrenceOf = (tenor: Tenor): string => RECURRENCES[tenor]
export const seriesSlugOf = (symbol: AssetSymbol, tenor: Tenor): string =>
  `${symbol.toLowerCase()}-up-or-down-${RECURRENCES[tenor]}`

/** The window that contains an instant. Four-hour and daily windows follow New York clocks. */
export function windowAt(tenor: Tenor, timeMs: number): { startMs: number; endMs: number } {
  const fixed = tenor === '5m' ? STEP_MS : tenor === '15m' ? 15 * MINUTE_MS : tenor === '1h' ? HOUR_MS : 0
  if (fixed > 0) {
    const startMs = Math.floor(timeMs / fixed) * fixed
    return { startMs, endMs: startMs + fixed }
  }
  const length = tenor === '4h' ? 4 * HOUR_MS : DAY_MS
  const shift = tenor === '24h' ? DAY_MS / 2 : 0
  const wall = timeMs + newYorkOffsetMs(timeMs)
  const wallStart = Math.floor((wall - shift) / length) * length + shift
  return { startMs: fromNewYork(wallStart), endMs: fromNewYork(wallStart + length) }
}

/** Inverse of the odd factor modulo 2^32. */
const INVERSE = 0x0e8b2f51

/** An invertible mix, so that ids look random but still lead back to their window. */
const scramble = (value: number): number => Math.imul(value + 1, 0x9e3779b1) >>> 0
const unscramble = (value: number): number => (Math.imul(value, INVERSE) >>> 0) - 1

export function createUpDowns(options: {
  seed: number
  v2FromMs: number
  aheadMs?: number | undefined
  splitShare?: number | undefined
  /** From this time on, lists may leave out running windows. */
  unlistedFromMs?: number | undefined
}) {
  const { seed, aheadMs = DEFAULT_AHEAD_MS } = options
  const known = new Lru<number, UpDown>({ maxEntries: REMEMBERED })
  const listedOverMs = Math.min(LISTED_OVER_MS, Math.floor(aheadMs / 4))

  /** When the catalogue shows a window: some time before it starts, usually on the day before. */
  const listedMsOf = (index: number, startMs: number): number =>
    startMs - aheadMs + (hash32(seed, 71, index) % (listedOverMs / 1_000)) * 1_000 + LISTED_AFTER_MS

  function build(index: number): UpDown | undefined {
    if (!Number.isSafeInteger(index) || index < 0) return undefined
    const series = index % SERIES_COUNT
    const symbol = SYMBOLS[Math.floor(series / TENORS.length)] as AssetSymbol
    const tenor = TENORS[series % TENORS.length] as Tenor
    const startMs = ORIGIN_MS + Math.floor(index / SERIES_COUNT) * STEP_MS
    const window = windowAt(tenor, startMs)
    if (window.startMs !== startMs) return undefined
    const slug = slugOf(symbol, tenor, startMs)
    const version = startMs >= options.v2FromMs ? 'v2' : 'v1'
    const names = namesOf(seed, index, slug, version)
    const listedMs = listedMsOf(index, startMs)
    return {
      index,
      symbol,
      tenor,
      ...window,
      listedMs,
      bookFromMs: listedMs + 60_000 + (hash32(seed, 72, index) % 120_000),
      resolvedMs: window.endMs + settlementDelayMs(seed, index, tenor),
      unlisted: drawUnlisted({
        ...{ seed, stream: 75, number: index, fromMs: window.startMs, toMs: window.endMs },
        notBeforeMs: options.unlistedFromMs,
      }),
      isSplit: hash32(seed, 74, index) / 4_294_967_296 < (options.splitShare ?? 0),
      slug,
      question: questionOf(symbol, tenor, window),
      seriesSlug: seriesSlugOf(symbol, tenor),
      gammaId: String(1_000_000 + index),
      eventId: String(100_000 + index),
      version,
      ...names,
    }
  }

  const find = (index: number): UpDown | undefined => {
    const before = known.get(index)
    if (before !== undefined) return before
    const built = build(index)
    if (built !== undefined) known.set(index, built)
    return built
  }
  const indexOf = (symbol: AssetSymbol, tenor: Tenor, startMs: number) =>
    Math.round((startMs - ORIGIN_MS) / STEP_MS) * SERIES_COUNT +
    SYMBOLS.indexOf(symbol) * TENORS.length +
    TENORS.indexOf(tenor)

  return {
    /** If the slug names an hour that New York's clock shows twice, returns the later window. */
    bySlug(slug: string): UpDown | undefined {
      const about = readSlug(slug)
      if (about === undefined) return undefined
      const found = find(indexOf(about.symbol, about.tenor, about.startMs))
      return found?.slug === slug ? found : undefined
    },
    byCondition(conditionId: string): UpDown | undefined {
      if (!/^0x[0-9a-f]{64}$/.test(conditionId)) return undefined
      for (const tail of [conditionId.slice(-8), conditionId.slice(-10, -2)]) {
        const market = find(unscramble(Number.parseInt(tail, 16)))
        if (market?.conditionId === conditionId) return market
      }
      return undefined
    },
    byToken(token: string): { market: UpDown; leg: 0 | 1 } | undefined {
      if (!/^\d{60,78}$/.test(token)) return undefined
      const value = BigInt(token)
      const tails = [
        Math.floor(unscramble(Number(value & 0xffffffffn)) / 2),
        unscramble(Number((value >> 8n) & 0xffffffffn)),
      ]
      for (const tail of tails) {
        const market = find(tail)
        const leg = market?.tokens.indexOf(token) ?? -1
        if (market !== undefined && leg >= 0) return { market, leg: leg === 0 ? 0 : 1 }
      }
      return undefined
    },
    /** Windows of a series whose start lies in from ≤ start < to, in order. */
    between,
    /** Windows of a series that were listed in from < time ≤ to, in order. */
    listedBetween(symbol: AssetSymbol, tenor: Tenor, fromMs: number, toMs: number): UpDown[] {
      const found: UpDown[] = []
      const latestMs = aheadMs - LISTED_AFTER_MS
      const [firstMs, endMs] = [fromMs + latestMs - listedOverMs, toMs + latestMs + 1]
      for (const startMs of windowStarts(tenor, firstMs, endMs)) {
        const index = indexOf(symbol, tenor, startMs)
        const listedMs = listedMsOf(index, startMs)
        const market = listedMs > fromMs && listedMs <= toMs ? find(index) : undefined
        if (market !== undefined) found.push(market)
      }
      return found
    },
  }

  function between(symbol: AssetSymbol, tenor: Tenor, fromMs: number, toMs: number): UpDown[] {
    return windowStarts(tenor, fromMs, toMs)
      .map((startMs) => find(indexOf(symbol, tenor, startMs)))
      .filter((market) => market !== undefined)
  }
}

/** Starts of the windows in from ≤ start < to. */
function windowStarts(tenor: Tenor, fromMs: number, toMs: number): number[] {
  const starts: number[] = []
  let window = windowAt(tenor, fromMs)
  if (window.startMs < fromMs) window = windowAt(tenor, window.endMs)
  for (; window.startMs < toMs; window = windowAt(tenor, window.endMs)) starts.push(window.startMs)
  return starts
}

/** Version 1: unrelated numbers. Version 2: a position combines its condition (31 bytes) and the outcome. */
function namesOf(
  seed: number,
  index: number,
  slug: string,
  version: 'v1' | 'v2',
): Pick<UpDown, 'conditionId' | 'tokens'> {
  const digest = (what: string) => hash('sha256', `${seed}|${what}|${slug}`)
  const tail = (value: number) => scramble(value).toString(16).padStart(8, '0')
  if (version === 'v2') {
    const conditionId = `4${digest('condition').slice(0, 53)}${tail(index)}00`
    const position = (outcome: number) => (BigInt(`0x${conditionId}`) + BigInt(outcome)).toString()
    return { conditionId: `0x${conditionId}`, tokens: [position(0), position(1)] }
  }
  // The leading digit keeps the number at 77 digits.
  const token = (leg: number) =>
    BigInt(`0x4${digest(`leg${leg}`).slice(0, 55)}${tail(index * 2 + leg)}`).toString()
  return {
    conditionId: `0x${digest('condition').slice(0, 56)}${tail(index)}`,
    tokens: [token(0), token(1)],
  }
}

/** Seconds from the end to the settlement: at least 15, typically 21, occasionally minutes. */
function settlementDelayMs(seed: number, index: number, tenor: Tenor): number {
  const part = hash32(seed, 73, index) / 4_294_967_296
  const seconds =
    part < 0.9 ? 15 + part * 14 : part < 0.995 ? 28 + (part - 0.9) * 300 : 120 + (part - 0.995) * 39_000
  // The daily question uses the candle that closes one minute after noon.
  return Math.floor(seconds * 1_000) + (tenor === '24h' ? 60_000 : 0)
}

function slugOf(symbol: AssetSymbol, tenor: Tenor, startMs: number): string {
  const short = symbol.toLowerCase()
  const long = symbol === 'XRP' ? 'xrp' : SYMBOL_NAMES[symbol].toLowerCase()
  if (tenor === '5m' || tenor === '15m' || tenor === '4h')
    return `${short}-updown-${tenor}-${startMs / 1_000}`
  const at = newYorkTime(tenor === '24h' ? windowAt('24h', startMs).endMs : startMs)
  const month = at.monthName.toLowerCase()
  if (tenor === '24h') return `${long}-up-or-down-on-${month}-${at.day}-${at.year}`
  return `${long}-up-or-down-${month}-${at.day}-${at.year}-${clockText(at, false).toLowerCase()}-et`
}

function readSlug(slug: string): { symbol: AssetSymbol; tenor: Tenor; startMs: number } | undefined {
  const epoch = /^(btc|eth|sol|xrp)-updown-(5m|15m|4h)-(\d{9,11})$/.exec(slug)
  if (epoch !== null)
    return {
      symbol: (epoch[1] as string).toUpperCase() as AssetSymbol,
      tenor: epoch[2] as Tenor,
      startMs: Number(epoch[3]) * 1_000,
    }
  const named = /^(\w+)-up-or-down-(on-)?([a-z]+)-(\d{1,2})-(\d{4})(?:-(\d{1,2})(am|pm)-et)?$/.exec(slug)
  const symbol = SYMBOLS.find((known) => SYMBOL_NAMES[known].toLowerCase() === named?.[1])
  if (named === null || symbol === undefined) return undefined
  const isDaily = named[2] !== undefined
  if (isDaily !== (named[6] === undefined)) return undefined
  const hour = isDaily ? 12 : (Number(named[6]) % 12) + (named[7] === 'pm' ? 12 : 0)
  const wall = Date.parse(`${named[3]} ${named[4]}, ${named[5]} UTC`) + hour * HOUR_MS
  if (Number.isNaN(wall)) return undefined
  const at = fromNewYork(wall)
  return { symbol, tenor: isDaily ? '24h' : '1h', startMs: isDaily ? windowAt('24h', at - 1).startMs : at }
}

function questionOf(symbol: AssetSymbol, tenor: Tenor, window: { startMs: number; endMs: number }): string {
  const name = SYMBOL_NAMES[symbol]
  const [start, end] = [newYorkTime(window.startMs), newYorkTime(window.endMs)]
  if (tenor === '24h') return `${name} Up or Down on ${end.monthName} ${end.day}?`
  const day = `${name} Up or Down - ${start.monthName} ${start.day}`
  if (tenor === '1h') return `${day}, ${clockText(start, false)} ET`
  return `${day}, ${clockText(start, true)}-${clockText(end, true)} ET`
}

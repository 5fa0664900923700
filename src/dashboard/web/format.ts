/** How numbers and times are shown. */
const whole = new Intl.NumberFormat('en-US')
const kib = new Intl.NumberFormat('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 })
const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })

export const count = (value: number) => whole.format(value)
export const compact = (value: number) => short.format(value)
/** `1 candle`, `1,200 candles`; irregular plurals are passed: `plural(2, 'try', 'tries')`. */
export const plural = (value: number, one: string, many = `${one}s`) =>
  `${count(value)} ${value === 1 ? one : many}`
/** The plan's name, followed by the name that market data uses for its tier if that differs. */
export const planName = ({ name, tier }: { name: string; tier: string }) =>
  name === tier ? name : `${name} (${tier})`
/** With one decimal if it is not zero. */
export const percent = (share: number) => `${Math.round(share * 1000) / 10}%`

export function dateTime(text: string | null): string {
  if (text === null) return '–'
  return new Date(text).toISOString().slice(0, 16).replace('T', ' ')
}

/** When a candle begins, with seconds if candles are shorter than a minute. */
export function candleTime(text: string, lengthMs: number): string {
  return lengthMs < 60_000 ? new Date(text).toISOString().slice(0, 19).replace('T', ' ') : dateTime(text)
}

export function day(text: string): string {
  return new Date(text).toLocaleDateString('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' })
}

export function ago(text: string | null, nowMs = Date.now()): string {
  if (text === null) return 'never'
  const seconds = Math.round((nowMs - Date.parse(text)) / 1000)
  if (seconds < 0) return dateTime(text)
  if (seconds < 5) return 'just now'
  if (seconds < 90) return `${seconds} s ago`
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min ago`
  if (seconds < 129_600) return `${Math.round(seconds / 3_600)} h ago`
  return `${plural(Math.round(seconds / 86_400), 'day')} ago`
}

export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`
  return seconds < 5_400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`
}

/** The time from now until then. */
export function ahead(text: string, nowMs = Date.now()): string {
  const seconds = Math.round((Date.parse(text) - nowMs) / 1000)
  return seconds <= 1 ? 'now' : `in ${duration(seconds)}`
}

/** Hours and minutes for a time today, otherwise with the date. */
export function formatTimestamp(text: string | null): string {
  const full = dateTime(text)
  return full.slice(0, 10) === new Date().toISOString().slice(0, 10) ? full.slice(11) : full.slice(5)
}

const DIGITS = 6
const MAX_DECIMALS = 8

/** The number of decimals for a price: those it has, as far as they matter for its size. */
export function chartDecimals(value: number): number {
  const size = Math.floor(Math.log10(Math.abs(value) || 1))
  const sensible = Math.min(MAX_DECIMALS, Math.max(2, DIGITS - size))
  const text = value.toFixed(sensible).replace(/0+$/, '')
  return text.length - text.indexOf('.') - 1
}

export function price(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: chartDecimals(value) })
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']

/** A size on disk, in decimal units. */
export function size(value: number): string {
  const step = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.abs(value) || 1) / 3)))
  const scaled = value / 1000 ** step
  return `${step === 0 ? count(scaled) : kib.format(scaled)} ${UNITS[step]}`
}

export function bytes(value: number): string {
  return value < 1_024 ? `${count(value)} B` : `${kib.format(value / 1_024)} KiB`
}
